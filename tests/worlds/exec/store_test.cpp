// Does the store in memory keep revisions, watches and leases apart?
#include <catch2/catch.hpp>
#include <thread>

#include "exec/host/memory_store.hpp"

namespace xdc {

TEST_CASE("a key is written only at the revision that was expected", "[exec]") {
  const SteadyClock clock;
  MemoryStore store(clock);
  REQUIRE(!store.get("a", kNoDeadline).value());
  REQUIRE(store.put_if("a", "x", 7, nullptr, kNoDeadline).value() == 0);
  const uint64_t first = store.put_if("a", "x", 0, nullptr, kNoDeadline).value();
  REQUIRE(first > 0);
  REQUIRE(store.put_if("a", "y", 0, nullptr, kNoDeadline).value() == 0);
  const uint64_t other = store.put_if("b", "z", kAnyRevision, nullptr, kNoDeadline).value();
  REQUIRE(other > first);
  const uint64_t second = store.put_if("a", "y", first, nullptr, kNoDeadline).value();
  REQUIRE(second > other);
  REQUIRE(store.put_if("a", "z", first, nullptr, kNoDeadline).value() == 0);
  REQUIRE(store.get("a", kNoDeadline).value()->value == "y");
  REQUIRE(store.get("a", kNoDeadline).value()->revision == second);
}

TEST_CASE("a watch returns at the next write or times out at its deadline", "[exec]") {
  SteadyClock clock;
  MemoryStore store(clock);
  const TimePoint deadline = clock.now() + milliseconds(30);
  REQUIRE(store.watch("a", 0, deadline).error().code == ErrorCode::timeout);
  REQUIRE(clock.now() >= deadline);
  const uint64_t first = store.put_if("a", "x", 0, nullptr, kNoDeadline).value();
  REQUIRE(store.watch("a", 0, {0}).value().value == "x");  // there already
  bool written = false;
  std::thread writer([&] {
    clock.sleep_until(clock.now() + milliseconds(20));
    written = store.put_if("b", "other", 0, nullptr, kNoDeadline).ok() && store.put_if("a", "y", first, nullptr, kNoDeadline).ok();
  });
  const auto seen = store.watch("a", first, clock.now() + seconds(10));
  writer.join();
  REQUIRE(written);
  REQUIRE(seen.value().value == "y");
}

TEST_CASE("keys vanish with the lease they were put under and others stay", "[exec]") {
  SteadyClock clock;
  MemoryStore store(clock);
  auto lease = store.lease(seconds(3), kNoDeadline).value();
  REQUIRE(store.put_if("mine", "x", 0, lease.get(), kNoDeadline).value() > 0);
  REQUIRE(store.put_if("free", "x", 0, nullptr, kNoDeadline).value() > 0);
  lease.reset();
  REQUIRE(!store.get("mine", kNoDeadline).value());
  REQUIRE(store.get("free", kNoDeadline).value());
  REQUIRE(store.put_if("mine", "y", 0, nullptr, kNoDeadline).value() > 0);  // as if it had never been
}

TEST_CASE("a lease that nobody keeps alive ends and one that is kept does not", "[exec]") {
  SteadyClock clock;
  MemoryStore store(clock);
  const uint64_t kept = store.grant(seconds(1));
  const uint64_t dropped = store.grant(seconds(1));
  REQUIRE(store.put_under("kept", "x", 0, kept).ok());
  REQUIRE(store.put_under("dropped", "x", 0, dropped).ok());
  for (int i = 0; i < 8; ++i) {
    clock.sleep_until(clock.now() + milliseconds(200));
    REQUIRE(store.keep_alive(kept));
  }
  REQUIRE(store.get("kept", kNoDeadline).value());
  REQUIRE(!store.get("dropped", kNoDeadline).value());
  REQUIRE(!store.keep_alive(dropped));
  REQUIRE(store.put_under("dropped", "y", 0, dropped).error().code == ErrorCode::failed);
}

}  // namespace xdc
