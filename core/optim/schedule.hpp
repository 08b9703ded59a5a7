// How large is the step at step t?
#pragma once

#include <cstdint>

#include "core/optim/spec.hpp"

namespace xdc {

// The formulas beside ScheduleSpec; the same bits on every processor. `step` counts from 1; a step beyond `planned_steps` has
// the rate of the last one. Requires planned_steps >= 1 for linear and cosine; the others ignore it.
double learning_rate(const OptimizerSpec& spec, int64_t step, int64_t planned_steps);

}  // namespace xdc
