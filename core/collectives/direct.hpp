// How do a few ranks add their tensors when everyone can talk to everyone? Directly: each part has an owner who receives all
// contributions, adds them in the order of the group, and sends the sum to all. Deterministic whatever arrives first.
//
// With n ranks and S bytes dealt evenly, each rank sends (n-1)/n S in each phase; two phases; two latencies.
// (Thakur, Rabenseifner, Gropp 2005, section 4: pairwise exchange.)
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/collectives/exchange.hpp"

namespace xdc {

// One group's part of an exchange. Several run together, so that a rank with several lanes waits once.
struct Reduction {
  Group group;
  Tier tier = Tier::wan;
  std::vector<Range> parts;                     // of the flat tensor; empty ones take no message
  std::vector<int> owner;                       // per part, index into group.ranks
  std::vector<std::optional<ControlSum>> sums;  // per part. Before: this rank's own. After: the group's, where known
};

// flat f32 [parameters], in place. Afterwards, on its owner, each part holds the sum of the group's values in group order
// (received ones decoded, the owner's own as it is); elsewhere the part is as it was.
Status direct_reduce_scatter(ExchangeSite& site, const ExchangeCall& call, Tensor flat, std::span<Reduction> reductions);

// Every rank's part = its owner's. A part that crosses a codec is encoded once, by the owner, who keeps the decoded value.
Status direct_all_gather(ExchangeSite& site, const ExchangeCall& call, Tensor flat, std::span<Reduction> reductions);

// Everyone sends all its parts to everyone and adds for itself, its own contribution decoded too: one latency, S bytes to
// each other rank. `owner` is not used.
Status all_gather_sum(ExchangeSite& site, const ExchangeCall& call, Tensor flat, std::span<Reduction> reductions);

}  // namespace xdc
