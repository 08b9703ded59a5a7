// How long may a round take before something is wrong?
#pragma once

#include "core/validate/run_spec.hpp"

namespace xdc {

// Seconds of the modelled computation of one step (of the cost profile where there is one) on the slowest datacenter's devices: a lower
// bound of its time.
double compute_seconds(const RunSpec& spec);
// The part of that computation after which the first bucket's exchange may begin, on those devices.
double part_to_first_bucket(const RunSpec& spec);
// Seconds that the busiest line between datacenters needs for one round's payload: another lower bound.
double line_seconds(const RunSpec& spec);

// Twenty times both lower bounds, or what one connection with its window would need where that is more, and at least a minute: slow
// is not lost.
void set_deadlines(RunSpec& spec);

}  // namespace xdc
