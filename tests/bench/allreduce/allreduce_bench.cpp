// How fast do four processes of one machine add 100 MB in a ring, beside Gloo's ring between the same processes? And what do lines between
// datacenters (kept pieces, checksums) and mutual TLS cost?
//
//   bench_allreduce [MEGABYTES [REPEATS [WAYS]]]       100, 7 and 01234: which ways, as they are listed below
//
// Bus bandwidth: 2 (n-1)/n S / t, which is what each process sends. One repeat runs every way once, in turn; a figure is the median.
#include <fmt/format.h>
#include <gloo/allreduce.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "core/collectives/ring.hpp"
#include "core/math/cpu_kernels.hpp"
#include "exec/grpc/grpc_fabric.hpp"
#include "exec/grpc/grpc_store.hpp"
#include "exec/grpc/store_server.hpp"
#include "exec/host/cpu_device.hpp"
#include "exec/host/memory_store.hpp"
#include "tests/worlds/exec/certificates.hpp"

namespace {

using namespace xdc;

constexpr int kRanks = 4;
constexpr int kGloosOwn = 0;
constexpr std::array kWays{"Gloo, ring", "xdc, one datacenter", "xdc, between datacenters", "xdc, one datacenter, mutual TLS",
                           "xdc, between datacenters, mutual TLS"};
constexpr int kWaysOfOurs = static_cast<int>(kWays.size()) - 1;

void must(const Status& status) { XDC_CHECK_MSG(status.ok(), status.error().message); }
std::string label(MemberId member) { return fmt::format("rank{}.bench", member); }

// Gloo's all-reduce adds in place.
class GlooRing {
 public:
  GlooRing(int rank, const std::string& folder) : context_(std::make_shared<gloo::rendezvous::Context>(rank, kRanks)) {
    gloo::rendezvous::FileStore store(folder);
    gloo::transport::tcp::attr where;
    where.hostname = "127.0.0.1";
    auto device = gloo::transport::tcp::CreateDevice(where);
    context_->connectFullMesh(store, device);
  }

  void add(std::vector<float>& values) {
    gloo::AllreduceOptions options(context_);
    options.setAlgorithm(gloo::AllreduceOptions::Algorithm::RING);
    options.setOutput(values.data(), values.size());
    options.setReduceFunction([](void* sum, const void* a, const void* b, size_t n) { gloo::sum<float>(sum, a, b, n); });
    gloo::allreduce(options);
  }

 private:
  std::shared_ptr<gloo::rendezvous::Context> context_;
};

// Ours, as a flat ring's bucket is exchanged.
class OurRing {
 public:
  OurRing(int rank, bool across, bool tls, const std::string& store_address, const std::string& certificates, const SteadyClock& clock)
      : rank_(rank), clock_(clock), store_(store_address, clock) {
    if (tls) security_ = load_security(certificates, label(rank)).value();
    GrpcFabric::Options options{rank, "bench", [](MemberId member) { return fmt::format("rank {}", member); }};
    options.security = security_ ? &*security_ : nullptr;
    options.label = label;
    if (across) options.line = [](MemberId) { return line_between(2, 10e9, milliseconds(1)); };
    fabric_ = GrpcFabric::start(options, clock, store_, clock.now() + seconds(20)).value();
    View everyone{1, {}};
    for (int i = 0; i < kRanks; ++i) everyone.members.push_back(i);
    communicator_ = fabric_->connect(everyone, "ring", clock.now() + seconds(20)).value();
    stream_ = device_.make_stream("ring");
  }

  void add(std::vector<float>& values) {
    const auto n = static_cast<int64_t>(values.size());
    scratch_.reset();
    ExchangeSite site{device_, stream_, *communicator_, scratch_, [](Rank r) { return fmt::format("rank {}", r); }, Geometry(n)};
    RingReduction ring;
    ring.group.me = rank_;
    ring.hop.assign(kRanks, Tier::wan);
    ring.chunks = deal({0, n}, kRanks);
    ring.sum = ControlSum{1, 0};
    for (int i = 0; i < kRanks; ++i) ring.group.ranks.push_back(i);
    const Bytes bytes{Space::device, reinterpret_cast<std::byte*>(values.data()), values.size() * sizeof(float)};
    must(ring_all_reduce(site, {++round_, 0, clock_.now() + seconds(60)}, Tensor::flat(bytes, DType::f32, n), {&ring, 1}));
  }

 private:
  int rank_;
  const SteadyClock& clock_;
  GrpcStore store_;
  std::optional<Security> security_;
  CpuKernels kernels_;
  CpuDevice device_{"cpu", kernels_};
  Scratch scratch_{device_};
  Stream stream_;
  std::unique_ptr<GrpcFabric> fabric_;
  std::unique_ptr<Communicator> communicator_;
  int64_t round_ = 0;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

bool chosen(const std::string& ways, size_t way) { return ways.find(static_cast<char>('0' + way)) != std::string::npos; }

void print(const std::array<std::vector<double>, kWays.size()>& times, int64_t bytes) {
  std::array<double, kWays.size()> rates{};
  for (size_t way = 0; way < kWays.size(); ++way) {
    if (times[way].empty()) continue;
    rates[way] = 2.0 * (kRanks - 1) / kRanks * static_cast<double>(bytes) / median(times[way]) / 1e9;
    fmt::print("{:<38} {:7.1f} ms  {:5.2f} GB/s bus bandwidth", kWays[way], median(times[way]) * 1e3, rates[way]);
    if (way > 0 && rates[0] > 0) fmt::print("  {:4.2f} of Gloo's", rates[way] / rates[0]);
    if (way > 2 && rates[way - 2] > 0) fmt::print(", {:4.2f} of plaintext", rates[way] / rates[way - 2]);
    fmt::print("\n");
  }
}

// One process. `where`: the folder with Gloo's files and the certificates, then one store for each way of ours.
void run(int rank, int64_t megabytes, int repeats, const std::string& ways, std::span<char*> where) {
  const SteadyClock clock;
  const int64_t elements = megabytes * 1'000'000 / 4;
  std::vector<float> values(static_cast<size_t>(elements));
  GlooRing theirs(rank, std::string(where[0]) + "/gloo");
  std::vector<std::unique_ptr<OurRing>> ours;
  for (int way = 0; way < kWaysOfOurs; ++way) {
    ours.push_back(std::make_unique<OurRing>(rank, way % 2 == 1, way >= 2, where[1 + static_cast<size_t>(way)], where[0], clock));
  }
  std::array<std::vector<double>, kWays.size()> times;
  for (int repeat = -1; repeat < repeats; ++repeat) {  // the first warms up
    for (int way = 0; way < static_cast<int>(kWays.size()); ++way) {
      if (!chosen(ways, static_cast<size_t>(way))) continue;
      std::fill(values.begin(), values.end(), static_cast<float>(rank + 1));
      std::vector<float> barrier(kRanks);
      theirs.add(barrier);
      const TimePoint start = clock.now();
      way == kGloosOwn ? theirs.add(values) : ours[static_cast<size_t>(way) - 1]->add(values);
      theirs.add(barrier);  // the slowest counts
      if (repeat >= 0) times[static_cast<size_t>(way)].push_back(to_seconds(clock.now() - start));
      XDC_CHECK(values.front() == 10.0F && values.back() == 10.0F);  // 1 + 2 + 3 + 4
    }
  }
  if (rank == 0) print(times, elements * 4);
}

int lead(char** argv, const std::string& megabytes, const std::string& repeats, const std::string& ways) {
  const Certificates certificates;
  for (int rank = 0; rank < kRanks; ++rank) certificates.make(label(rank));
  std::filesystem::create_directory(certificates.directory() + "/gloo");
  const SteadyClock clock;
  std::vector<std::unique_ptr<MemoryStore>> facts;
  std::vector<std::unique_ptr<StoreServer>> servers;
  std::vector<std::string> words{argv[0], "", megabytes, repeats, ways, certificates.directory()};
  for (int way = 0; way < kWaysOfOurs; ++way) {
    facts.push_back(std::make_unique<MemoryStore>(clock));
    servers.push_back(StoreServer::start(*facts.back(), clock).value());
    words.push_back(servers.back()->address());
  }
  fmt::print("{} processes, {} MB of f32, medians of {}\n", kRanks, megabytes, repeats);
  std::fflush(stdout);
  for (int rank = 0; rank < kRanks; ++rank) {
    words[1] = fmt::format("rank={}", rank);
    std::vector<char*> arguments;
    for (auto& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    if (::fork() == 0) {
      ::execv("/proc/self/exe", arguments.data());
      ::_exit(127);
    }
  }
  int failed = 0;
  for (int rank = 0; rank < kRanks; ++rank) {
    int status = 0;
    ::wait(&status);
    failed |= status;
  }
  std::filesystem::remove_all(certificates.directory() + "/gloo");
  return failed == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 5 && std::string(argv[1]).starts_with("rank=")) {
    run(std::atoi(argv[1] + 5), std::atoll(argv[2]), std::atoi(argv[3]), argv[4], {argv + 5, static_cast<size_t>(argc - 5)});
    return 0;
  }
  return lead(argv, argc > 1 ? argv[1] : "100", argc > 2 ? argv[2] : "7", argc > 3 ? argv[3] : "01234");
}
