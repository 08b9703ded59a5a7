#include "tests/gpu/fake_cuda.hpp"
#include "tests/gpu/gpu_world.hpp"

namespace xdc::gpu_test {

// Every test begins with this question, so what the one before broke is whole again.
std::optional<std::string> why_not(int /*gpus*/) {
  fake::reset();
  return std::nullopt;
}

}  // namespace xdc::gpu_test
