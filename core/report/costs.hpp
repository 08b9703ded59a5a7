// What does a variant cost? Devices by the hour, egress by the gigabyte that leaves a datacenter.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "core/report/assemble.hpp"

namespace xdc {

// Bytes between ordered pairs of datacenters.
struct PairTraffic {
  int64_t wire = 0, payload = 0;
};
using Ledger = std::map<std::pair<int, int>, PairTraffic>;

// Fills out.cost from out.elapsed_s and the rest; priced only where every datacenter concerned is. Cost to the target: devices until then,
// and egress of the steps that had been taken by then: a part of all steps where they are taken together, else each worker's own.
void add_cost(const VariantFacts& facts, const std::vector<const MemberReport*>& workers, const Ledger& ledger, VariantReport& out);

}  // namespace xdc
