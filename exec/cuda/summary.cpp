#include "exec/cuda/summary.hpp"

#include <cuda_runtime_api.h>
#include <nccl.h>

namespace xdc {

Result<std::string> cuda_device_summary() {
  CudaVersions versions;
  // Where there is no driver this succeeds and says 0.
  cudaDriverGetVersion(&versions.driver);
  cudaRuntimeGetVersion(&versions.runtime);
  ncclGetVersion(&versions.nccl);

  int count = 0;
  const cudaError_t counted = cudaGetDeviceCount(&count);
  if (counted != cudaSuccess) {
    return no_cuda_device(versions, cudaGetErrorString(counted));
  }
  std::vector<CudaDeviceFacts> devices;
  for (int i = 0; i < count; ++i) {
    cudaDeviceProp p{};
    const cudaError_t asked = cudaGetDeviceProperties(&p, i);
    if (asked != cudaSuccess) {
      return no_cuda_device(versions, cudaGetErrorString(asked));
    }
    devices.push_back({p.name, static_cast<double>(p.totalGlobalMem), p.major, p.minor});
  }
  if (devices.empty()) {
    return no_cuda_device(versions, "there is none");
  }
  return describe_cuda(versions, devices);
}

}  // namespace xdc
