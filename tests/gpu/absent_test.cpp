// What does a program say about GPUs that was built without CUDA?
#include <catch2/catch.hpp>

#include "exec/cuda/summary.hpp"

TEST_CASE("a program built without CUDA says so and offers the CPU") {
  const auto summary = xdc::cuda_device_summary();
  REQUIRE_FALSE(summary.ok());
  CHECK(summary.error().code == xdc::ErrorCode::unsupported);
  CHECK(summary.error().message.find("built without CUDA") != std::string::npos);
  CHECK(summary.error().message.find("CPU") != std::string::npos);
}
