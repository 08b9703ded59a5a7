// Can this program use a GPU here? What it finds, or why not; in every build, also in one without CUDA.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.hpp"

namespace xdc {

// "2 devices: NVIDIA H200 (139 GiB, compute 9.0), ...; driver 13.0, runtime 13.0, NCCL 2.28.9".
// Errors: unsupported, with the reason (built without CUDA, no driver, driver too old, no device) and what to do.
Result<std::string> cuda_device_summary();

// Below: the parts of the text, apart so that they are tested where there is no GPU.
struct CudaVersions {
  int driver = 0;  // as CUDA encodes them: 1000 * major + 10 * minor; 0: there is no driver
  int runtime = 0;
  int nccl = 0;  // as NCCL encodes them: 10000 * major + 100 * minor + patch
};

struct CudaDeviceFacts {
  std::string name;
  double memory_bytes = 0;
  int compute_major = 0, compute_minor = 0;
};

std::string describe_cuda(const CudaVersions& versions, const std::vector<CudaDeviceFacts>& devices);
// Why no device can be used. `reason` is CUDA's own text.
Error no_cuda_device(const CudaVersions& versions, const std::string& reason);

}  // namespace xdc
