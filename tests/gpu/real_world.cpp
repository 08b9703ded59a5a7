#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "tests/gpu/gpu_world.hpp"

namespace xdc::gpu_test {

std::optional<std::string> why_not(int gpus) {
  int count = 0;
  const cudaError_t counted = cudaGetDeviceCount(&count);
  if (counted != cudaSuccess) {
    return fmt::format("no usable GPU: {}", cudaGetErrorString(counted));
  }
  if (count < gpus) {
    return fmt::format("needs {} GPUs, there are {}", gpus, count);
  }
  return std::nullopt;
}

}  // namespace xdc::gpu_test
