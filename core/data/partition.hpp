// Which samples lie in which datacenter? Disjoint lists of exactly the sizes asked for; what is left over lies nowhere.
//
//   uniform    a random deal
//   dirichlet  each datacenter draws label proportions p ~ Dirichlet(alpha, ..., alpha) (Hsu et al. 2019, "Measuring the
//              effects of non-identical data distribution", section 3.1) and asks for size * p of each label. Where a label is
//              asked for more than there is, it is shared in proportion to what was asked, and the shortfall is asked for again
//              among the labels that are left, until every size is met. Small alpha: few labels each; large: all alike.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/result.hpp"
#include "core/data/spec.hpp"

namespace xdc {

// Indices into `labels`, ascending, per datacenter in topology order.
// Errors: invalid, where the sizes add up to more than there is, a size is < 1, or alpha is not > 0 and finite.
Result<std::vector<std::vector<int32_t>>> partition_samples(const DataSpec& spec, std::span<const uint8_t> labels, uint64_t seed);

}  // namespace xdc
