// Does the launcher's store behave over the wire as it does in memory?
#include "exec/grpc/grpc_store.hpp"

#include <catch2/catch.hpp>
#include <thread>

#include "exec/grpc/registration.hpp"
#include "exec/grpc/store_server.hpp"

namespace xdc {

namespace {

struct Served {
  SteadyClock clock;
  MemoryStore facts{clock};
  std::unique_ptr<StoreServer> server = std::move(StoreServer::start(facts, clock)).value();
  GrpcStore store{server->address(), clock};
};

}  // namespace

TEST_CASE("conditional writes and watches work over the wire", "[exec]") {
  Served served;
  Store& store = served.store;
  const Deadline deadline = served.clock.now() + seconds(20);
  REQUIRE(!store.get("a", deadline).value());
  const std::string value("any \0 bytes", 11);
  const uint64_t first = store.put_if("a", value, 0, nullptr, deadline).value();
  REQUIRE(first > 0);
  REQUIRE(store.put_if("a", "no", 0, nullptr, deadline).value() == 0);
  REQUIRE(store.get("a", deadline).value()->value == value);
  uint64_t second = 0;
  std::thread writer([&] {
    served.clock.sleep_until(served.clock.now() + milliseconds(50));
    second = store.put_if("a", "later", first, nullptr, deadline).value();
  });
  const auto seen = store.watch("a", first, deadline);
  writer.join();
  REQUIRE(second > first);
  REQUIRE(seen.value().value == "later");
}

TEST_CASE("a watch over the wire times out at its deadline", "[exec]") {
  Served served;
  REQUIRE(served.store.get("warm", served.clock.now() + seconds(10)).ok());
  const TimePoint deadline = served.clock.now() + milliseconds(100);
  REQUIRE(served.store.watch("never", 0, deadline).error().code == ErrorCode::timeout);
  REQUIRE(served.clock.now() >= deadline);
  REQUIRE(served.clock.now() < deadline + seconds(10));
}

TEST_CASE("a lease is kept alive while it is held and let go at once", "[exec]") {
  Served served;
  const Deadline deadline = served.clock.now() + seconds(20);
  auto lease = std::move(served.store.lease(milliseconds(1500), deadline)).value();
  REQUIRE(served.store.put_if("mine", "x", 0, lease.get(), deadline).value() > 0);
  served.clock.sleep_until(served.clock.now() + seconds(3));
  REQUIRE(served.store.get("mine", deadline).value());
  lease.reset();
  REQUIRE(!served.store.get("mine", deadline).value());
}

TEST_CASE("a member whose lease ended while it was stopped is found again", "[exec]") {
  Served served;
  const Deadline deadline = served.clock.now() + seconds(30);
  auto registration = std::move(Registration::start(served.store, served.clock, "address/0", "here", seconds(2), deadline)).value();
  const auto first = served.store.get("address/0", deadline).value();
  REQUIRE(first);
  // As if nothing of this process had run for longer than the lease.
  for (uint64_t lease = 1; lease < 10; ++lease) {
    served.facts.revoke(lease);
  }
  REQUIRE(!served.facts.get("address/0", kNoDeadline).value());
  const auto again = served.store.watch("address/0", first->revision, deadline);
  REQUIRE(again.ok());
  REQUIRE(again.value().value == "here");
  registration.reset();
  REQUIRE(!served.store.get("address/0", deadline).value());
}

TEST_CASE("a store that starts late, or again at its place, is waited for", "[exec]") {
  SteadyClock clock;
  MemoryStore facts(clock);
  auto server = std::move(StoreServer::start(facts, clock)).value();
  const std::string address = server->address();
  server.reset();
  GrpcStore store({address, {}, nullptr, seconds(60)}, clock);
  std::thread keeper([&] {
    clock.sleep_until(clock.now() + milliseconds(300));
    server = std::move(StoreServer::start(facts, clock, {address, nullptr, {}})).value();
  });
  const Deadline deadline = clock.now() + seconds(60);
  CHECK(store.put_if("a", "1", 0, nullptr, deadline).value() > 0);
  keeper.join();
  server.reset();
  server = std::move(StoreServer::start(facts, clock, {address, nullptr, {}})).value();
  CHECK(store.get("a", deadline).value()->value == "1");
}

TEST_CASE("a store at a taken port is an error that names it", "[exec]") {
  Served served;
  const auto second = StoreServer::start(served.facts, served.clock, {served.server->address(), nullptr, {}});
  REQUIRE(!second.ok());
  CHECK(second.error().message.find(served.server->address()) != std::string::npos);
  CHECK(second.error().message.find("in use") != std::string::npos);
}

TEST_CASE("a store that is gone is an error that names its address", "[exec]") {
  SteadyClock clock;
  MemoryStore facts(clock);
  auto server = std::move(StoreServer::start(facts, clock)).value();
  GrpcStore store(server->address(), clock);
  REQUIRE(store.get("a", clock.now() + seconds(10)).ok());
  const std::string address = server->address();
  server.reset();
  const auto answer = store.get("a", clock.now() + seconds(10));
  REQUIRE(answer.error().code == ErrorCode::failed);
  REQUIRE(answer.error().message.find(address) != std::string::npos);
}

}  // namespace xdc
