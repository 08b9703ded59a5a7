// What are the parameters before the first step? The same on every member, from the seed alone.
#pragma once

#include <cstdint>
#include <span>

#include "core/seam/kernels.hpp"

namespace xdc {

// Weights are uniform in [-a, a): a = sqrt(6 / fan_in) where a relu follows before the next weights (He et al. 2015, section
// 2.2), else a = sqrt(6 / (fan_in + fan_out)) (Glorot and Bengio 2010, eq. 16). Biases are 0. Layer i draws from the stream
// "initialise/i", so changing one layer leaves the others' weights as they were.
// Requires parameters.size() == spec.parameters.
void initialise_parameters(const NetworkSpec& spec, uint64_t seed, std::span<float> parameters);

}  // namespace xdc
