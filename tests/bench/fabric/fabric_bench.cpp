// How fast does the fabric of gRPC streams move bytes between two processes on the loopback, and how long does a tiny message take?
#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <vector>

#include "exec/grpc/grpc_fabric.hpp"
#include "exec/grpc/grpc_store.hpp"
#include "exec/grpc/store_server.hpp"
#include "exec/host/memory_store.hpp"

namespace {

using namespace xdc;

constexpr size_t kBulkBytes = 8 << 20;
constexpr int kBulkMessages = 400;
constexpr int kInFlight = 4;
constexpr int kRoundTrips = 3000;

void must(const Status& status) { XDC_CHECK_MSG(status.ok(), status.error().message); }

void wait_for(Communicator& channel, const WorkPtr& work) {
  Work* const works[] = {work.get()};
  must(channel.wait_any(works, kNoDeadline).status());
}

// Rank 0 sends, rank 1 receives, `kInFlight` at a time; the last message goes back, so that the clock of rank 0 tells.
double bulk_seconds(Communicator& channel, const SteadyClock& clock) {
  std::vector<std::vector<std::byte>> memory(kInFlight, std::vector<std::byte>(kBulkBytes, std::byte{7}));
  ControlWords control;
  const TimePoint start = clock.now();
  std::deque<WorkPtr> works;
  for (size_t i = 0; i < kBulkMessages; ++i) {
    if (works.size() == kInFlight) {
      wait_for(channel, works.front());
      works.pop_front();
    }
    const Bytes bytes{Space::host, memory[i % kInFlight].data(), kBulkBytes};
    works.push_back(channel.rank() == 0 ? channel.isend(1, {}, bytes, {static_cast<int64_t>(kBulkBytes), Traffic::payload})
                                        : channel.irecv(0, &control, bytes));
  }
  for (const WorkPtr& work : works) {
    wait_for(channel, work);
  }
  wait_for(channel, channel.rank() == 0 ? channel.irecv(1, &control, {}) : channel.isend(0, {}, {}, {0, Traffic::control}));
  return to_seconds(clock.now() - start);
}

std::vector<double> round_trips_us(Communicator& channel, const SteadyClock& clock) {
  std::vector<double> times;
  ControlWords control;
  for (int i = 0; i < kRoundTrips; ++i) {
    const TimePoint start = clock.now();
    const auto send = [&] { wait_for(channel, channel.isend(1 - channel.rank(), {}, {}, {0, Traffic::control})); };
    const auto receive = [&] { wait_for(channel, channel.irecv(1 - channel.rank(), &control, {})); };
    if (channel.rank() == 0) {
      send();
      receive();
    } else {
      receive();
      send();
    }
    times.push_back(to_seconds(clock.now() - start) * 1e6);
  }
  std::sort(times.begin(), times.end());
  return times;
}

// The same bytes over one TCP connection with nothing above it, between two processes: what the loopback gives today.
double plain_tcp_rate() {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  XDC_CHECK(::bind(listener, reinterpret_cast<sockaddr*>(&address), size) == 0 && ::listen(listener, 1) == 0);
  XDC_CHECK(::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  std::vector<std::byte> memory(kBulkBytes, std::byte{7});
  const pid_t child = ::fork();
  if (child == 0) {
    const int to = ::socket(AF_INET, SOCK_STREAM, 0);
    XDC_CHECK(::connect(to, reinterpret_cast<sockaddr*>(&address), size) == 0);
    for (int i = 0; i < kBulkMessages; ++i) {
      for (size_t at = 0; at < kBulkBytes;) {
        at += static_cast<size_t>(::send(to, memory.data() + at, kBulkBytes - at, 0));
      }
    }
    ::_exit(0);
  }
  const int from = ::accept(listener, nullptr, nullptr);
  const SteadyClock clock;
  int64_t bytes = 0;
  for (ssize_t n = 1; n > 0; bytes += n) {
    n = ::recv(from, memory.data(), kBulkBytes, 0);
  }
  ::close(from);
  ::close(listener);
  ::waitpid(child, nullptr, 0);
  return static_cast<double>(bytes) / to_seconds(clock.now() - TimePoint{}) / 1e9;
}

void run(MemberId self, const std::string& store_address) {
  const SteadyClock clock;
  GrpcStore store(store_address, clock);
  const auto describe = [](MemberId member) { return fmt::format("rank {}", member); };
  auto fabric = GrpcFabric::start({self, "bench", describe}, clock, store, clock.now() + seconds(10));
  must(fabric.status());
  const View view{1, {0, 1}};
  auto channel = fabric.value()->connect(view, "bench", clock.now() + seconds(10));
  must(channel.status());
  std::vector<double> rates;
  for (int i = 0; i < 3; ++i) {
    rates.push_back(static_cast<double>(kBulkBytes) * kBulkMessages / bulk_seconds(*channel.value(), clock) / 1e9);
  }
  const auto times = round_trips_us(*channel.value(), clock);
  if (self == 0) {
    fmt::print("8 MiB messages, {} in flight: {:.2f} {:.2f} {:.2f} GB/s\n", kInFlight, rates[0], rates[1], rates[2]);
    fmt::print("control words there and back: p50 {:.0f} us, p95 {:.0f} us\n", times[times.size() / 2], times[times.size() * 95 / 100]);
  }
}

}  // namespace

// The parent is the store and rank 0, a child is rank 1.
int main(int argc, char** argv) {
  if (argc > 1) {
    run(1, argv[1]);
    return 0;
  }
  fmt::print("plain TCP: {:.2f} GB/s\n", plain_tcp_rate());  // before gRPC starts threads: it forks
  std::fflush(stdout);
  const SteadyClock clock;
  MemoryStore facts(clock);
  const auto server = StoreServer::start(facts, clock);
  must(server.status());
  const std::string address = server.value()->address();
  const pid_t child = ::fork();
  if (child == 0) {
    ::execl("/proc/self/exe", argv[0], address.c_str(), nullptr);
    ::_exit(127);
  }
  run(0, address);
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}
