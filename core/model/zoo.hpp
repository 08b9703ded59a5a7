// Which models are there? Feed-forward networks by name, for images of any size that fits.
//
//   linear  dense to the classes. 28x28 to 10: 7,850 parameters.
//   mlp     dense 128, relu, dense. 28x28 to 10: 101,770 parameters.
//   lenet   LeNet-5 (LeCun et al. 1998, section II) with relu and max pooling: conv 6 5x5 (padding 2), pool 2, conv 16 5x5,
//           pool 2, dense 120, dense 84, dense. 28x28 to 10: 61,706 parameters. Needs images of at least 12x12.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/seam/kernels.hpp"

namespace xdc {

// In alphabetical order.
const std::vector<std::string>& model_names();

// Errors: invalid, for an unknown kind, classes < 2, or images the model cannot take.
Result<NetworkSpec> make_network(std::string_view kind, int channels, int height, int width, int classes);

}  // namespace xdc
