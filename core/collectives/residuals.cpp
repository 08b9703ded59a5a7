#include "core/collectives/residuals.hpp"

#include <algorithm>

#include "core/base/check.hpp"

namespace xdc {

void ResidualPlan::add(Tier tier, Encoded what, Range range) {
  if (range.count == 0) {
    return;
  }
  auto& ranges = ranges_[slot(tier, what)];
  auto at = std::find_if(ranges.begin(), ranges.end(), [&](Range other) { return other.begin >= range.begin; });
  XDC_CHECK(at == ranges.end() || range.end() <= at->begin);
  XDC_CHECK(at == ranges.begin() || std::prev(at)->end() <= range.begin);
  if (at != ranges.end() && range.end() == at->begin) {
    *at = {range.begin, range.count + at->count};
  } else {
    at = ranges.insert(at, range);
  }
  if (at != ranges.begin() && std::prev(at)->end() == at->begin) {
    std::prev(at)->count += at->count;
    ranges.erase(at);
  }
}

int64_t ResidualPlan::elements() const {
  int64_t elements = 0;
  for (const auto& ranges : ranges_) {
    for (const Range range : ranges) {
      elements += range.count;
    }
  }
  return elements;
}

std::optional<int64_t> ResidualPlan::place(Tier tier, Encoded what, Range range) const {
  int64_t at = 0;
  for (size_t s = 0; s < ranges_.size(); ++s) {
    for (const Range kept : ranges_[s]) {
      if (s == slot(tier, what) && kept.begin <= range.begin && range.end() <= kept.end()) {
        return at + range.begin - kept.begin;
      }
      at += kept.count;
    }
  }
  return std::nullopt;
}

Tensor Residuals::of(Tier tier, Encoded what, Range range) const {
  XDC_CHECK_MSG(plan != nullptr, "an encoding with error feedback needs residuals");
  const auto place = plan->place(tier, what, range);
  XDC_CHECK_MSG(place.has_value(), "an encoding with error feedback was not planned");
  return values.range(*place, range.count);
}

}  // namespace xdc
