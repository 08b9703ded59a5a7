#include <fmt/format.h>

#include "exec/cuda/summary.hpp"

namespace xdc {
namespace {

std::string cuda_version(int encoded) { return fmt::format("{}.{}", encoded / 1000, encoded % 1000 / 10); }

std::string version_text(const CudaVersions& v) {
  return fmt::format("driver {}, runtime {}, NCCL {}.{}.{}", v.driver == 0 ? "none" : cuda_version(v.driver), cuda_version(v.runtime),
                     v.nccl / 10000, v.nccl % 10000 / 100, v.nccl % 100);
}

}  // namespace

std::string describe_cuda(const CudaVersions& versions, const std::vector<CudaDeviceFacts>& devices) {
  std::string list;
  for (const auto& d : devices) {
    const double gib = d.memory_bytes / (1024.0 * 1024.0 * 1024.0);
    list += fmt::format("{}{} ({:.0f} GiB, compute {}.{})", list.empty() ? "" : ", ", d.name, gib, d.compute_major, d.compute_minor);
  }
  return fmt::format("{} device{}: {}; {}", devices.size(), devices.size() == 1 ? "" : "s", list, version_text(versions));
}

Error no_cuda_device(const CudaVersions& versions, const std::string& reason) {
  std::string advice;
  if (versions.driver == 0) {
    advice = "; install NVIDIA's driver, or run on the CPU";
  } else if (versions.driver / 1000 < versions.runtime / 1000) {
    advice = fmt::format("; this driver serves CUDA {} at most: update it, or run on the CPU", cuda_version(versions.driver));
  }
  return {ErrorCode::unsupported, fmt::format("no usable CUDA device: {} ({}){}", reason, version_text(versions), advice)};
}

}  // namespace xdc
