#include "exec/cuda/cuda_error.hpp"

#include <fmt/format.h>

namespace xdc {

Error cuda_error(cudaError_t code, std::string_view what) {
  return {ErrorCode::failed, fmt::format("{}: {} ({})", what, cudaGetErrorString(code), cudaGetErrorName(code))};
}

Status cuda_status(cudaError_t code, std::string_view what) {
  if (code == cudaSuccess) {
    return ok_status();
  }
  return cuda_error(code, what);
}

}  // namespace xdc
