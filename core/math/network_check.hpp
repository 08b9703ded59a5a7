// Is a network well-formed? Its layers fit each other and their parameters fill the flat buffer.
#pragma once

#include "core/base/result.hpp"
#include "core/seam/kernels.hpp"

namespace xdc {

// Errors: invalid, naming the layer and what does not fit.
Status check_network(const NetworkSpec& spec, int batch);

}  // namespace xdc
