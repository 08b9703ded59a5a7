// What does a channel between datacenters ride out, and what ends it?
#include "tests/worlds/exec/members.hpp"
#include "tests/worlds/exec/relay.hpp"

namespace xdc {

namespace {

constexpr size_t kMiB = size_t{1} << 20;

// Two members in two datacenters; what member 0 sends to member 1 goes through a relay.
struct Apart {
  explicit Apart(int streams = 1) {
    for (MemberId self = 0; self < 2; ++self) {
      GrpcFabric::Options options{.self = self, .run = "test", .describe = describe_member};
      options.line = [streams](MemberId) {
        Line line = line_between(streams, 1e9, milliseconds(1));
        line.silence = milliseconds(500);
        return line;
      };
      auto started = GrpcFabric::start(std::move(options), clock, store, clock.now() + seconds(30));
      REQUIRE(started.ok());
      fabrics[static_cast<size_t>(self)] = std::move(started).value();
    }
    relay.emplace(fabrics[1]->address());
    REQUIRE(store.put_if(address_key(1), relay->address(), kAnyRevision, nullptr, kNoDeadline).ok());
    std::thread other([this] { ends[1] = open(1); });
    ends[0] = open(0);
    other.join();
    REQUIRE(ends[0]);
    REQUIRE(ends[1]);
  }
  std::unique_ptr<Communicator> open(size_t member) {
    auto opened = fabrics[member]->connect({1, {0, 1}}, "apart", clock.now() + seconds(30));
    return opened.ok() ? std::move(opened).value() : nullptr;
  }

  SteadyClock clock;
  MemoryStore store{clock};
  std::optional<Relay> relay;
  std::array<std::unique_ptr<GrpcFabric>, 2> fabrics;
  std::array<std::unique_ptr<Communicator>, 2> ends;
};

std::vector<std::byte> pattern(size_t size, uint64_t seed) {
  std::vector<std::byte> bytes(size);
  for (size_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<std::byte>((i * 31 + seed * 7 + i / 4096) & 0xff);
  }
  return bytes;
}

// `count` messages from 0 to 1, each checked; `disturb` is called before each is received.
template <class Disturb>
void hold_messages(Apart& apart, size_t count, size_t size, Disturb disturb) {
  std::vector<std::vector<std::byte>> sent;
  std::vector<WorkPtr> works;
  const Deadline deadline = apart.clock.now() + seconds(100);
  std::thread sender([&] {
    for (size_t i = 0; i < count; ++i) {
      sent.push_back(pattern(size + i, i));
      works.push_back(apart.ends[0]->isend(1, {{i, 0, 0, 0}}, bytes_of(sent.back()), wire_of(sent.back())));
      if (!wait_one(*apart.ends[0], works.back(), deadline).ok()) {
        return;
      }
    }
  });
  size_t intact = 0;
  for (size_t i = 0; i < count; ++i) {
    disturb(i);
    std::vector<std::byte> target(size + i);
    ControlWords control;
    const auto work = apart.ends[1]->irecv(0, &control, bytes_of(target));
    const auto finished = wait_one(*apart.ends[1], work, deadline);
    if (!finished.ok()) {
      UNSCOPED_INFO(finished.error().message);
      apart.ends[0]->abort({ErrorCode::aborted, "enough"});
      break;
    }
    intact += control.word[0] == i && target == pattern(size + i, i) ? 1 : 0;
  }
  sender.join();
  CHECK(intact == count);
}

}  // namespace

TEST_CASE("a channel between datacenters goes on where it was when its connections break", "[exec]") {
  Apart apart(3);
  hold_messages(apart, 24, 3 * kMiB, [&](size_t i) {
    if (i % 6 == 3) {
      apart.relay->break_connections();
    }
  });
  CHECK(apart.relay->connections() >= 4);
}

TEST_CASE("a small message is not lost with its connection", "[exec]") {
  Apart apart;
  hold_messages(apart, 60, 100, [&](size_t i) {
    if (i % 20 == 10) {
      apart.relay->break_connections();
    }
  });
}

TEST_CASE("damaged bytes are noticed and sent again", "[exec]") {
  Apart apart(2);
  apart.relay->flip_bits(5'000'000, 3);
  hold_messages(apart, 20, 2 * kMiB, [](size_t) {});
  CHECK(apart.relay->flips_left() == 0);
}

TEST_CASE("a line that is cut without a word is found back when it returns", "[exec]") {
  Apart apart(2);
  std::thread repair;
  hold_messages(apart, 12, 4 * kMiB, [&](size_t i) {
    if (i == 4) {
      apart.relay->hold(true);
      repair = std::thread([&] {
        apart.clock.sleep_until(apart.clock.now() + seconds(3));
        apart.relay->hold(false);
      });
    }
  });
  repair.join();
}

TEST_CASE("much to send goes over several connections", "[exec]") {
  Apart apart(4);
  hold_messages(apart, 8, 16 * kMiB, [](size_t) {});
  CHECK(apart.relay->connections() >= 2);
  CHECK(apart.relay->connections() <= 4);
}

TEST_CASE("a host that refuses the reconnection is a lost peer, in sends and in receives", "[exec]") {
  Apart apart;
  apart.relay->refuse();
  ControlWords control;
  const auto received = apart.ends[0]->irecv(1, &control, {});
  const auto lost = wait_one(*apart.ends[0], received, apart.clock.now() + seconds(60));
  REQUIRE(!lost.ok());
  CHECK(lost.error().code == ErrorCode::peer_lost);
  CHECK(lost.error().message.find("refuses") != std::string::npos);
}

TEST_CASE("a channel that is closed in order delivers everything although its connection broke just before", "[exec]") {
  Apart apart(2);
  std::vector<std::vector<std::byte>> sent;
  std::vector<WorkPtr> works;
  for (size_t i = 0; i < 4; ++i) {
    sent.push_back(pattern(kMiB, i));
    works.push_back(apart.ends[0]->isend(1, {}, bytes_of(sent.back()), wire_of(sent.back())));
    REQUIRE(wait_one(*apart.ends[0], works.back(), apart.clock.now() + seconds(30)).ok());
  }
  apart.relay->break_connections();
  works.clear();
  apart.ends[0].reset();
  for (size_t i = 0; i < 4; ++i) {
    std::vector<std::byte> target(kMiB);
    const auto work = apart.ends[1]->irecv(0, nullptr, bytes_of(target));
    REQUIRE(wait_one(*apart.ends[1], work, apart.clock.now() + seconds(30)).ok());
    CHECK(target == sent[i]);
  }
}

}  // namespace xdc
