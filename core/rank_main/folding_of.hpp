// Which ranks of a run may one act for in a simulation?
#pragma once

#include "core/membership/folding.hpp"
#include "core/validate/run_spec.hpp"

namespace xdc {

// Nobody in a run with real payload: every rank has samples and gradients of its own.
Folding folding_of(const RunSpec& spec);

}  // namespace xdc
