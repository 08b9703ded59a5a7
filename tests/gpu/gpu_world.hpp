// On what do these tests run? The same bodies run on a real GPU (label gpu) and, everywhere, on the tests' own CUDA.
#pragma once

#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/seam/kernels.hpp"
#include "exec/cuda/cuda_device.hpp"
#include "exec/host/steady_clock.hpp"

namespace xdc::gpu_test {

// Why a test that needs this many GPUs cannot run here; empty when it can.
std::optional<std::string> why_not(int gpus);

// Memory, streams and events, and nothing else: asking it for arithmetic is a mistake of the test.
class MemoryDevice final : public CudaDeviceBase {
 public:
  MemoryDevice(int index, std::string owner, Clock& clock) : CudaDeviceBase(index, std::move(owner), clock) {}
  Kernels& kernels() override { check_failed("kernels()", __FILE__, __LINE__, "these tests do no arithmetic"); }
};

inline Deadline after(Clock& clock, Duration d) { return clock.now() + d; }

}  // namespace xdc::gpu_test

// ctest reads the line and counts the test as skipped (SKIP_REGULAR_EXPRESSION in CMakeLists.txt), not as passed.
#define XDC_NEEDS_GPUS(count)                                    \
  if (const auto xdc_reason = ::xdc::gpu_test::why_not(count)) { \
    std::cout << "xdc skipped: " << *xdc_reason << std::endl;    \
    return;                                                      \
  }                                                              \
  static_cast<void>(0)
