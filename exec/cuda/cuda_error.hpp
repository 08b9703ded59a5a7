// What did CUDA say? Its code and text as an Error.
#pragma once

#include <cuda_runtime_api.h>

#include <string_view>

#include "core/base/result.hpp"

namespace xdc {

// "<what>: out of memory (cudaErrorMemoryAllocation)", code `failed`.
Error cuda_error(cudaError_t code, std::string_view what);

// Ok for cudaSuccess, else cuda_error.
Status cuda_status(cudaError_t code, std::string_view what);

}  // namespace xdc
