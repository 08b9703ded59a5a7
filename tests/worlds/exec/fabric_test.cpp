// What does the fabric of gRPC streams promise beyond the seam: bounded memory, good-byes, who is let in?
#include <catch2/catch.hpp>
#include <filesystem>

#include "tests/worlds/exec/members.hpp"

namespace xdc {

namespace {

constexpr size_t kMessage = 1 << 20;

size_t finished_within(Communicator& channel, const std::vector<WorkPtr>& works, Deadline deadline) {
  size_t finished = 0;
  while (finished < works.size() && wait_one(channel, works[finished], deadline).ok()) {
    ++finished;
  }
  return finished;
}

}  // namespace

TEST_CASE("a receiver that does not receive stops its sender and gets everything later", "[exec]") {
  Pair pair;
  std::vector<std::byte> memory(kMessage);
  std::vector<WorkPtr> works;
  constexpr size_t kMessages = 96;
  for (size_t i = 0; i < kMessages; ++i) {
    works.push_back(pair.ends[0]->isend(1, {{i, 0, 0, 0}}, bytes_of(memory), wire_of(memory)));
  }
  const size_t early = finished_within(*pair.ends[0], works, pair.clock.now() + milliseconds(700));
  // 4 MiB unclaimed, one message of 2 more, 8 of look-ahead, and what gRPC and the kernel hold on both sides.
  REQUIRE(early < 40);
  for (size_t i = 0; i < kMessages; ++i) {
    ControlWords control;
    const auto work = pair.ends[1]->irecv(0, &control, bytes_of(memory));
    REQUIRE(wait_one(*pair.ends[1], work, pair.clock.now() + seconds(30)).ok());
    REQUIRE(control.word[0] == i);
  }
  REQUIRE(finished_within(*pair.ends[0], works, pair.clock.now() + seconds(30)) == kMessages);
}

TEST_CASE("a message that waits on one channel does not hold up another", "[exec]") {
  Pair bulk("bulk");
  std::array<std::unique_ptr<Communicator>, 2> bulk_ends;
  bulk_ends.swap(bulk.ends);
  std::thread other([&] { bulk.open(1, "control"); });
  bulk.open(0, "control");
  other.join();
  REQUIRE(bulk.ends[0]);
  REQUIRE(bulk.ends[1]);
  std::vector<std::byte> memory(64 * kMessage);
  const auto stuck = bulk_ends[0]->isend(1, {}, bytes_of(memory), wire_of(memory));  // nobody receives it
  REQUIRE(!wait_one(*bulk_ends[0], stuck, bulk.clock.now() + milliseconds(100)).ok());
  const auto sent = bulk.ends[0]->isend(1, {{5, 0, 0, 0}}, {}, {0, Traffic::control});
  ControlWords control;
  const auto received = bulk.ends[1]->irecv(0, &control, {});
  REQUIRE(wait_one(*bulk.ends[1], received, bulk.clock.now() + seconds(10)).ok());
  REQUIRE(wait_one(*bulk.ends[0], sent, bulk.clock.now() + seconds(10)).ok());
  bulk_ends[0]->abort({ErrorCode::aborted, "enough"});
}

TEST_CASE("aborting gives borrowed memory back although nobody received it", "[exec]") {
  Pair pair;
  auto memory = std::make_unique<std::vector<std::byte>>(64 * kMessage);
  auto work = pair.ends[0]->isend(1, {}, bytes_of(*memory), wire_of(*memory));
  REQUIRE(wait_one(*pair.ends[0], work, pair.clock.now() + milliseconds(100)).error().code == ErrorCode::timeout);
  const TimePoint start = pair.clock.now();
  pair.ends[0]->abort({ErrorCode::aborted, "enough"});
  work.reset();
  memory.reset();
  REQUIRE(pair.clock.now() < start + seconds(10));
  std::vector<std::byte> target(64 * kMessage);
  const auto received = pair.ends[1]->irecv(0, nullptr, bytes_of(target));
  REQUIRE(wait_one(*pair.ends[1], received, pair.clock.now() + seconds(10)).error().code == ErrorCode::peer_lost);
}

TEST_CASE("what was sent before its sender closed still arrives, and then the sender is gone", "[exec]") {
  Pair pair;
  std::vector<std::byte> memory(100'000, std::byte{9});
  {
    const auto work = pair.ends[0]->isend(1, {{1, 2, 3, 4}}, bytes_of(memory), wire_of(memory));
    REQUIRE(wait_one(*pair.ends[0], work, pair.clock.now() + seconds(10)).ok());
  }
  pair.ends[0].reset();
  pair.fabrics[0].reset();
  std::vector<std::byte> target(100'000);
  ControlWords control;
  const auto first = pair.ends[1]->irecv(0, &control, bytes_of(target));
  REQUIRE(wait_one(*pair.ends[1], first, pair.clock.now() + seconds(10)).ok());
  REQUIRE(target == memory);
  REQUIRE((control == ControlWords{{1, 2, 3, 4}}));
  const auto second = pair.ends[1]->irecv(0, &control, bytes_of(target));
  const auto lost = wait_one(*pair.ends[1], second, pair.clock.now() + seconds(10));
  REQUIRE(lost.error().code == ErrorCode::peer_lost);
  REQUIRE(lost.error().message.find("member 0") != std::string::npos);
}

TEST_CASE("sending to a member that closed its end is an error at the wait", "[exec]") {
  Pair pair;
  pair.ends[1].reset();
  // The news takes a moment; what is sent meanwhile is lost without one.
  for (int i = 0; i < 1000; ++i) {
    const auto work = pair.ends[0]->isend(1, {}, {}, {0, Traffic::control});
    const auto result = wait_one(*pair.ends[0], work, pair.clock.now() + seconds(10));
    if (!result.ok()) {
      REQUIRE(result.error().code == ErrorCode::peer_lost);
      return;
    }
    pair.clock.sleep_until(pair.clock.now() + milliseconds(5));
  }
  FAIL("the sender never heard of it");
}

TEST_CASE("a wait ends at its deadline and not before", "[exec]") {
  Pair pair;
  const auto work = pair.ends[0]->irecv(1, nullptr, {});
  for (const int ms : {0, 1, 10, 50}) {
    const TimePoint deadline = pair.clock.now() + milliseconds(ms);
    REQUIRE(wait_one(*pair.ends[0], work, deadline).error().code == ErrorCode::timeout);
    REQUIRE(pair.clock.now() >= deadline);
    REQUIRE(pair.clock.now() < deadline + seconds(10));
  }
  pair.ends[0]->abort({ErrorCode::aborted, "done"});
}

TEST_CASE("a timeout says how far each message had come and with whom", "[exec]") {
  Pair pair;
  std::vector<std::byte> memory(1000);
  const auto work = pair.ends[0]->irecv(1, nullptr, bytes_of(memory));
  const auto result = wait_one(*pair.ends[0], work, pair.clock.now() + milliseconds(5));
  REQUIRE(result.error().message == "channel pair of view 1: the deadline passed at 0 of 1000 bytes from member 1");
  pair.ends[0]->abort({ErrorCode::aborted, "done"});
}

TEST_CASE("a phantom sends as many zeros as are charged for it, and receives whatever comes for one", "[exec]") {
  Pair pair;
  const Deadline deadline = pair.clock.now() + seconds(30);
  const Bytes phantom{Space::device, nullptr, 1000};
  constexpr int64_t kMuch = 5'000'000;  // several chunks, and not a whole number of them
  const auto sent = pair.ends[0]->isend(1, {}, phantom, {kMuch, Traffic::payload});
  const auto little = pair.ends[0]->isend(1, {}, phantom, {7, Traffic::payload});
  const auto taken = pair.ends[1]->irecv(0, nullptr, phantom);
  REQUIRE(wait_one(*pair.ends[1], taken, deadline).ok());
  std::vector<std::byte> seven(7, std::byte{1});
  const auto filled = pair.ends[1]->irecv(0, nullptr, bytes_of(seven));
  REQUIRE(wait_one(*pair.ends[1], filled, deadline).ok());
  REQUIRE(seven == std::vector<std::byte>(7, std::byte{0}));
  REQUIRE(wait_one(*pair.ends[0], sent, deadline).ok());
  REQUIRE(wait_one(*pair.ends[0], little, deadline).ok());
}

TEST_CASE("a CPU has no native collectives", "[exec]") {
  const SteadyClock clock;
  MemoryStore store(clock);
  const auto fabric = start_fabric(0, clock, store);
  REQUIRE(fabric->native_collectives({1, {0, 1}}, "x", kNoDeadline).error().code == ErrorCode::unsupported);
}

TEST_CASE("members of different runs do not meet", "[exec]") {
  SteadyClock clock;
  MemoryStore store(clock);
  const auto a = start_fabric(0, clock, store, "one run");
  const auto b = start_fabric(1, clock, store, "another run");
  const auto channel = a->connect({1, {0, 1}}, "x", clock.now() + seconds(5));
  REQUIRE(!channel.ok());
  REQUIRE(channel.error().code == ErrorCode::peer_lost);
  REQUIRE(channel.error().message.find("another run") != std::string::npos);
}

TEST_CASE("members that speak of different views are told so on both sides", "[exec]") {
  SteadyClock clock;
  MemoryStore store(clock);
  const auto a = start_fabric(0, clock, store);
  const auto b = start_fabric(1, clock, store);
  const auto c = start_fabric(2, clock, store);
  ErrorCode other_code = ErrorCode::failed;
  std::thread other([&] {
    const auto channel = b->connect({4, {0, 1, 2}}, "x", clock.now() + seconds(5));
    other_code = channel.ok() ? ErrorCode::failed : channel.error().code;
  });
  const auto channel = a->connect({4, {0, 1}}, "x", clock.now() + seconds(5));
  other.join();
  REQUIRE(!channel.ok());
  REQUIRE(channel.error().code == ErrorCode::view_changed);
  REQUIRE(other_code == ErrorCode::view_changed);
}

TEST_CASE("a member that is in a newer view refuses the old one at once", "[exec]") {
  SteadyClock clock;
  MemoryStore store(clock);
  const auto a = start_fabric(0, clock, store);
  const auto b = start_fabric(1, clock, store);
  bool alone = false;
  std::thread newer([&] { alone = !b->connect({2, {0, 1}}, "x", clock.now() + milliseconds(500)).ok(); });
  const TimePoint start = clock.now();
  const auto channel = a->connect({1, {0, 1}}, "x", clock.now() + seconds(20));
  newer.join();
  REQUIRE(alone);
  REQUIRE(channel.error().code == ErrorCode::view_changed);
  REQUIRE(clock.now() < start + seconds(10));
}

TEST_CASE("many channels opened and closed one after another leave no descriptors behind", "[exec]") {
  Pair pair;
  const auto open_files = [] { return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}); };
  auto after_ten = open_files();
  for (int i = 0; i < 40; ++i) {
    const std::string purpose = fmt::format("round {}", i);
    std::thread other([&] { pair.open(1, purpose); });
    pair.open(0, purpose);
    other.join();
    REQUIRE(pair.ends[0]);
    REQUIRE(pair.ends[1]);
    after_ten = i == 10 ? open_files() : after_ten;
  }
  REQUIRE(open_files() < after_ten + 10);
}

}  // namespace xdc
