// Does a variant's account keep what must hold? Bytes equal their closed form, and time is not below its lower bound.
#pragma once

#include <vector>

#include "core/report/assemble.hpp"

namespace xdc {

// What a bound is compared with: the whole run, so that nothing depends on whose step ended when.
struct RunSpan {
  double end_s = 0;          // when the last worker had ended its last step
  double computation_s = 0;  // of the worker that computed longest
  int computed_by = 0;       // that worker's member id
};

// Fills bound and the lines' utilisation from out.links and out.steps. The lower bound of a step is the largest of
//   computation   of the rank that computes longest, over its steps
//   a line        its closed form's payload of a step over its rate: no framing, no latency, no waiting
// Violated: payload != closed form on some line; end < steps * bound, but for one part in a million (rounding to nanoseconds).
void add_bounds(const VariantFacts& facts, const RunSpan& span, VariantReport& out);

}  // namespace xdc
