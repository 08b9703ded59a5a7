// Does a user learn which GPUs there are, or why none can be used?
#include "exec/cuda/summary.hpp"

#include <catch2/catch.hpp>

namespace xdc {

TEST_CASE("the summary names devices, driver, runtime and NCCL") {
  const double gib = 1024.0 * 1024.0 * 1024.0;
  CHECK(describe_cuda({13010, 13000, 22809}, {{"NVIDIA H200", 139.8 * gib, 9, 0}}) ==
        "1 device: NVIDIA H200 (140 GiB, compute 9.0); driver 13.1, runtime 13.0, NCCL 2.28.9");
  CHECK(describe_cuda({13010, 13000, 22809}, {{"A", gib, 8, 0}, {"B", gib, 8, 6}}).substr(0, 64) ==
        "2 devices: A (1 GiB, compute 8.0), B (1 GiB, compute 8.6); drive");
}

TEST_CASE("without a device the reason comes with advice: no driver, or one too old") {
  const auto none = no_cuda_device({0, 13000, 22809}, "driver missing");
  CHECK(none.code == ErrorCode::unsupported);
  CHECK(none.message ==
        "no usable CUDA device: driver missing (driver none, runtime 13.0, NCCL 2.28.9); install NVIDIA's driver, or run on the CPU");
  const auto old = no_cuda_device({12040, 13000, 22809}, "too old");
  CHECK(old.message.find("this driver serves CUDA 12.4 at most") != std::string::npos);
  // A minor version older is fine: CUDA is compatible within a major version.
  CHECK(no_cuda_device({13000, 13010, 22809}, "no device").message.find("update") == std::string::npos);
}

TEST_CASE("asking this machine answers, with devices or with a reason") {
  const auto summary = cuda_device_summary();
  if (summary.ok()) {
    CHECK(summary.value().find("driver") != std::string::npos);
  } else {
    CHECK(summary.error().code == ErrorCode::unsupported);
    CHECK(summary.error().message.find("CPU") != std::string::npos);
  }
}

}  // namespace xdc
