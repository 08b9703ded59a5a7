// Which samples come from a seed alone? Classes with a random picture each, and noise on every pixel.
//
//   pixel = 96 + 24 * mean_class + 48 * noise, rounded, kept within 0 .. 255
//
// mean_class is a random picture (a point on the sphere of all pictures whose pixels have a mean square of 1; normal draws on
// coarse blocks, so that convolutions find something too); noise has deviation 1: the sum of four uniform bytes, which is
// nearly normal. A single pixel says little, all of them together decide. Sample i has label i mod classes.
#pragma once

#include <memory>

#include "core/base/result.hpp"
#include "core/data/dataset.hpp"

namespace xdc {

// Errors: invalid, for a shape, number of classes or samples that make no data.
Result<std::shared_ptr<const Dataset>> generate(const DataSpec& spec, uint64_t seed);

}  // namespace xdc
