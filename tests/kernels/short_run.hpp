// A few steps of LeNet with Adam, on partial and whole batches, one step at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "core/base/rng.hpp"
#include "core/math/cpu_kernels.hpp"
#include "core/model/initialise.hpp"
#include "core/model/zoo.hpp"
#include "core/optim/optimizer.hpp"

namespace xdc {

class ShortRun {
 public:
  static constexpr int kSteps = 6;
  static constexpr int kBatch = 12;

  explicit ShortRun(uint64_t seed) : seed_(seed) {
    initialise_parameters(spec_, seed, parameters_);
    network_ = kernels_.compile(spec_, kBatch).value();
  }

  // The seed's whole run does not depend on what other runs do in between.
  void step() {
    ++step_;
    RandomStream random(seed_, "test/short_run", static_cast<uint32_t>(step_));
    std::ranges::generate(images_, [&] { return random.uniform_float(); });
    std::ranges::generate(labels_, [&] { return static_cast<int32_t>(random.below(10)); });
    const int count = step_ % 2 == 0 ? kBatch : kBatch - step_;
    network_->forward({}, f32(parameters_), f32(images_), over(labels_, DType::i32), count, 1.0F / static_cast<float>(count), f32(loss_));
    for (int layer = static_cast<int>(spec_.layers.size()) - 1; layer >= 0; --layer) {
      network_->backward_layer({}, layer, f32(parameters_), f32(gradient_), false);
    }
    const std::vector<Tensor> state{f32(m_), f32(v_)};
    optimizer_.apply(kernels_, {}, step_, f32(parameters_), state, f32(gradient_), f32(parameters_), state);
    history_.push_back(loss_[0]);
    history_.insert(history_.end(), gradient_.begin(), gradient_.end());
  }

  std::vector<float> finish() {
    while (step_ < kSteps) {
      step();
    }
    history_.insert(history_.end(), parameters_.begin(), parameters_.end());
    return history_;
  }

 private:
  template <class T>
  static Tensor over(std::vector<T>& values, DType dtype) {
    return Tensor::flat({Space::device, reinterpret_cast<std::byte*>(values.data()), values.size() * sizeof(T)}, dtype,
                        static_cast<int64_t>(values.size()));
  }
  static Tensor f32(std::vector<float>& values) { return over(values, DType::f32); }

  static OptimizerSpec adam() {
    OptimizerSpec spec;
    spec.kind = OptimizerKind::adam;
    spec.learning_rate = 3e-3;
    return spec;
  }

  uint64_t seed_;
  int step_ = 0;
  CpuKernels kernels_;
  NetworkSpec spec_ = make_network("lenet", 1, 28, 28, 10).value();
  Optimizer optimizer_{adam(), 0};
  std::unique_ptr<Network> network_;
  std::vector<float> parameters_ = std::vector<float>(static_cast<size_t>(spec_.parameters));
  std::vector<float> gradient_ = parameters_, m_ = parameters_, v_ = parameters_, loss_ = std::vector<float>(1), history_;
  std::vector<float> images_ = std::vector<float>(static_cast<size_t>(kBatch * spec_.inputs()));
  std::vector<int32_t> labels_ = std::vector<int32_t>(kBatch);
};

}  // namespace xdc
