// Does an optimizer say truly how much state it needs?
#include "core/optim/optimizer.hpp"

#include <catch2/catch.hpp>

#include "core/math/cpu_kernels.hpp"
#include "core/optim/schedule.hpp"

namespace xdc {
namespace {

OptimizerSpec of(OptimizerKind kind, double momentum = 0) {
  OptimizerSpec spec;
  spec.kind = kind;
  spec.learning_rate = 0.1;
  spec.momentum = momentum;
  return spec;
}

TEST_CASE("An optimizer's state is what its rule remembers") {
  CHECK(Optimizer(of(OptimizerKind::sgd), 0).state_tensors() == 0);
  CHECK(Optimizer(of(OptimizerKind::sgd, 0.9), 0).state_tensors() == 1);
  CHECK(Optimizer(of(OptimizerKind::adam), 0).state_tensors() == 2);
  CHECK(Optimizer(of(OptimizerKind::adamw), 0).state_tensors() == 2);
  CHECK(Optimizer(of(OptimizerKind::adam), 0).state_bytes(61'706) == 2 * 4 * 61'706);
}

TEST_CASE("An update takes the learning rate of its step") {
  OptimizerSpec spec = of(OptimizerKind::sgd);
  spec.schedule.kind = ScheduleKind::linear;
  std::vector<float> p{1.0F}, g{1.0F};
  const auto tensor = [](std::vector<float>& v) {
    return Tensor::flat({Space::device, reinterpret_cast<std::byte*>(v.data()), 4 * v.size()}, DType::f32, static_cast<int64_t>(v.size()));
  };
  CpuKernels kernels;
  const Optimizer optimizer(spec, 4);
  for (int64_t step = 1; step <= 4; ++step) {
    const float before = p[0];
    optimizer.apply(kernels, {}, step, tensor(p), {}, tensor(g), tensor(p), {});
    CHECK(before - p[0] == Approx(learning_rate(spec, step, 4)).margin(1e-7));
  }
}

TEST_CASE("An update's bytes are the parameters and state both ways and the gradient once") {
  CHECK(Optimizer(of(OptimizerKind::sgd), 0).cost(100).bytes == 4 * 100 * 3);
  CHECK(Optimizer(of(OptimizerKind::adam), 0).cost(100).bytes == 4 * 100 * 7);
}

}  // namespace
}  // namespace xdc
