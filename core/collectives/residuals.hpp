// What does a member remember of what its encodings lost? One f32 for each element that it encodes: by tier, and apart for its
// contributions (also partial sums that it passes on) and for finished sums that it encodes for everyone. In one round each
// element is encoded at most once of each kind by one member, always in the same part of the exchange, so the place in the
// buffer says also to which hop it belongs.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "core/collectives/blocks.hpp"
#include "core/seam/bytes.hpp"
#include "core/seam/codec_spec.hpp"

namespace xdc {

enum class Encoded : uint8_t { contribution, finished };

// Which elements one member encodes with error feedback. A function of the strategy's plan, so memory is known before the run.
class ResidualPlan {
 public:
  // Ranges of one kind do not overlap; empty ones may be added.
  void add(Tier tier, Encoded what, Range range);

  // f32 that are kept; a member holds them once for each set of its state.
  int64_t elements() const;
  // Where the residuals of a range stand. nullopt: none are kept of some of it.
  std::optional<int64_t> place(Tier tier, Encoded what, Range range) const;

 private:
  static size_t slot(Tier tier, Encoded what) { return static_cast<size_t>(tier) * 2 + static_cast<size_t>(what); }

  std::array<std::vector<Range>, 4> ranges_;  // ascending; neighbours are one range
};

// The residuals themselves, as they are before or after a round.
struct Residuals {
  const ResidualPlan* plan = nullptr;
  Tensor values;  // f32 [plan->elements()]

  // f32 [range.count]. Requires that the range is planned.
  Tensor of(Tier tier, Encoded what, Range range) const;
};

}  // namespace xdc
