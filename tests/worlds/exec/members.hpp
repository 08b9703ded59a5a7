// Two or more fabrics in one process, for what the contract tests of all worlds cannot ask.
#pragma once

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <thread>

#include "exec/grpc/grpc_fabric.hpp"
#include "exec/host/memory_store.hpp"

namespace xdc {

inline std::string describe_member(MemberId member) { return fmt::format("member {}", member); }

inline std::unique_ptr<GrpcFabric> start_fabric(MemberId self, const SteadyClock& clock, Store& store, const std::string& run = "test") {
  auto fabric = GrpcFabric::start({self, run, describe_member}, clock, store, clock.now() + seconds(30));
  REQUIRE(fabric.ok());
  return std::move(fabric).value();
}

// Both ends of one channel, opened at the same time.
struct Pair {
  explicit Pair(const std::string& purpose = "pair") {
    fabrics[0] = start_fabric(0, clock, store);
    fabrics[1] = start_fabric(1, clock, store);
    std::thread other([&] { open(1, purpose); });
    open(0, purpose);
    other.join();
    REQUIRE(ends[0]);
    REQUIRE(ends[1]);
  }
  void open(size_t member, const std::string& purpose) {
    auto opened = fabrics[member]->connect({1, {0, 1}}, purpose, clock.now() + seconds(30));
    ends[member] = opened.ok() ? std::move(opened).value() : nullptr;
  }

  SteadyClock clock;
  MemoryStore store{clock};
  std::array<std::unique_ptr<GrpcFabric>, 2> fabrics;
  std::array<std::unique_ptr<Communicator>, 2> ends;
};

inline Result<size_t> wait_one(Communicator& channel, const WorkPtr& work, Deadline deadline) {
  Work* const works[] = {work.get()};
  return channel.wait_any(works, deadline);
}

inline Bytes bytes_of(std::vector<std::byte>& memory) { return {Space::host, memory.data(), memory.size()}; }
inline WireSize wire_of(const std::vector<std::byte>& memory) { return {static_cast<int64_t>(memory.size()), Traffic::payload}; }

}  // namespace xdc
