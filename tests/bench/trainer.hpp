// How does one rank train by itself? The smallest loop over the kernels that the benches share.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/base/check.hpp"
#include "core/math/cpu_kernels.hpp"
#include "core/model/initialise.hpp"
#include "core/optim/optimizer.hpp"

namespace xdc {

template <class T>
Tensor tensor_over(std::vector<T>& values, DType dtype) {
  return Tensor::flat({Space::host, reinterpret_cast<std::byte*>(values.data()), values.size() * sizeof(T)}, dtype,
                      static_cast<int64_t>(values.size()));
}

class Trainer {
 public:
  Trainer(const NetworkSpec& spec, int batch, const OptimizerSpec& optimizer, uint64_t seed)
      : spec_(spec),
        batch_(batch),
        optimizer_(optimizer, 0),
        network_(kernels_.compile(spec, batch).value()),
        images(static_cast<size_t>(batch * spec.inputs())),
        labels(static_cast<size_t>(batch)),
        parameters(static_cast<size_t>(spec.parameters)),
        gradient(static_cast<size_t>(spec.parameters)) {
    initialise_parameters(spec, seed, parameters);
    state_.assign(static_cast<size_t>(optimizer_.state_tensors()), std::vector<float>(parameters.size()));
  }

  // One micro-batch of what is in images and labels; returns the loss.
  float gradient_of(int count, float scale, bool accumulate) {
    network_->forward({}, f32(parameters), f32(images), tensor_over(labels, DType::i32), count, scale, f32(loss_));
    for (int layer = static_cast<int>(spec_.layers.size()) - 1; layer >= 0; --layer) {
      network_->backward_layer({}, layer, f32(parameters), f32(gradient), accumulate);
    }
    return loss_[0];
  }

  void update(int64_t step) {
    std::vector<Tensor> state;
    for (auto& one : state_) {
      state.push_back(f32(one));
    }
    optimizer_.apply(kernels_, {}, step, f32(parameters), state, f32(gradient), f32(parameters), state);
  }

  EvaluationSums evaluate(int count) {
    return network_->evaluate({}, f32(parameters), f32(images), tensor_over(labels, DType::i32), count);
  }

 private:
  static Tensor f32(std::vector<float>& values) { return tensor_over(values, DType::f32); }

  NetworkSpec spec_;
  int batch_;
  CpuKernels kernels_;
  Optimizer optimizer_;
  std::unique_ptr<Network> network_;
  std::vector<std::vector<float>> state_;
  std::vector<float> loss_ = std::vector<float>(1);

 public:
  std::vector<float> images;
  std::vector<int32_t> labels;
  std::vector<float> parameters, gradient;
};

}  // namespace xdc
