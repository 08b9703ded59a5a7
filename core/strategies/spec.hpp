// Which strategy, with which choices? What the user wrote, typed; `exchange = "auto"` is already decided here.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

namespace xdc {

enum class Exchange { ring, mesh, allgather };
enum class RingOrder { contiguous, interleaved };

// When a server applies what is pushed, and when it answers (core/strategies/parameter_server.cpp).
enum class ServerMode { sync, ssp, async };

// semantics: core/strategies/README.md
struct ParameterServerSpec {
  int placement = 0;  // datacenter, unless sharded
  int shards = 1;     // servers in each datacenter that has any
  bool sharded = false;
  bool aggregator = false;
  ServerMode mode = ServerMode::sync;
  int64_t staleness = 0;  // ssp: how many steps a worker may be ahead of the slowest
};
struct RingAllReduceSpec {
  RingOrder order = RingOrder::contiguous;
};
struct HierarchicalAllReduceSpec {
  int lanes = 1;  // L; 1 is the leader form
  Exchange exchange = Exchange::mesh;
  bool exchange_was_auto = true;
};

struct LocalSgdSpec {
  int64_t period = 1;  // H: local steps between two averages
  HierarchicalAllReduceSpec averaging;
};

using StrategySpec = std::variant<ParameterServerSpec, RingAllReduceSpec, HierarchicalAllReduceSpec, LocalSgdSpec>;

}  // namespace xdc
