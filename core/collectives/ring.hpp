// How does one ring of ranks add its tensors? Reduce-scatter, then all-gather, along the ring (Patarasuk & Yuan 2009): each
// rank sends 2(n-1)/n S bytes to its next one, in 2(n-1) messages one after another.
//
// The sum of a chunk is added along the ring from the chunk's start, so its bits depend on where chunks and buckets are cut.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/collectives/exchange.hpp"

namespace xdc {

struct RingReduction {
  Group group;                    // in ring order
  std::vector<Tier> hop;          // of the hop from group.ranks[i] to the next one
  std::vector<Range> chunks;      // one per rank; chunk c starts at rank c and is finished at rank c - 1
  std::optional<ControlSum> sum;  // before: this rank's own; after: the group's
};

// The tier whose codec finished sums take, every hop alike: wan if some hop between datacenters is encoded, else lan if some hop
// inside is; nullopt: neither.
std::optional<Tier> finished_tier(const RingReduction& ring, const TierCodecs& codecs);

// flat f32, in place: every rank's chunks = the sum over the ring. Several rings run in step.
Status ring_all_reduce(ExchangeSite& site, const ExchangeCall& call, Tensor flat, std::span<RingReduction> rings);

}  // namespace xdc
