// Does a phantom run go through all the calls without touching anything?
#include <catch2/catch.hpp>

#include "core/math/null_kernels.hpp"
#include "core/model/zoo.hpp"
#include "core/optim/optimizer.hpp"
#include "tests/kernels/reference.hpp"

namespace xdc {
namespace {

Tensor phantom(DType dtype, int64_t n) { return Tensor::flat({Space::device, nullptr, static_cast<size_t>(n) * size_of(dtype)}, dtype, n); }

TEST_CASE("Phantom tensors pass through every kernel") {
  NullKernels kernels;
  const NetworkSpec spec = make_network("mlp", 1, 28, 28, 10).value();
  auto network = kernels.compile(spec, 4);
  REQUIRE(network.ok());
  const Tensor parameters = phantom(DType::f32, spec.parameters);
  network.value()->forward({}, parameters, phantom(DType::f32, 4 * 784), phantom(DType::i32, 4), 4, 1.0F, phantom(DType::f32, 1));
  network.value()->backward_layer({}, 2, parameters, parameters, false);
  OptimizerSpec adam;
  adam.kind = OptimizerKind::adam;
  adam.learning_rate = 1e-3;
  const std::vector<Tensor> state(2, parameters);
  Optimizer(adam, 0).apply(kernels, {}, 1, parameters, state, parameters, parameters, state);
  kernels.add({}, parameters, parameters);
  kernels.scale({}, parameters, 2.0F);
  const Bytes wire{Space::host, nullptr, 2 * static_cast<size_t>(spec.parameters)};
  EncodeArgs args;
  args.codec.kind = CodecKind::fp16;
  args.x = parameters;
  args.wire = wire;
  kernels.encode({}, args);
  CHECK(kernels.decode({}, args.codec, wire, parameters).ok());
}

TEST_CASE("A phantom device leaves real memory as it is") {
  NullKernels kernels;
  std::vector<float> y{1, 2, 3}, x{4, 5, 6};
  kernels.add({}, tensor_of(y), tensor_of(x));
  kernels.scale({}, tensor_of(y), 0.0F);
  CHECK(y == std::vector<float>{1, 2, 3});
}

TEST_CASE("A phantom device refuses a malformed network as a real one does") {
  NullKernels kernels;
  NetworkSpec spec = make_network("mlp", 1, 28, 28, 10).value();
  spec.layers[1].out_channels = 127;
  const auto network = kernels.compile(spec, 4);
  REQUIRE(!network.ok());
  CHECK(network.error().code == ErrorCode::invalid);
}

}  // namespace
}  // namespace xdc
