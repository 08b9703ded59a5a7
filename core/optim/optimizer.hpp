// How do a gradient and the optimizer's state make new parameters? Elementwise, so any range of the flat buffer can be
// updated by itself: a parameter server does it bucket by bucket.
#pragma once

#include <cstdint>
#include <span>

#include "core/optim/spec.hpp"
#include "core/seam/device.hpp"
#include "core/seam/kernels.hpp"

namespace xdc {

class Optimizer {
 public:
  // `planned_steps`: 0 where unknown; then a schedule that needs it is a bug of the caller (learning_rate).
  // `updates_per_step`: so many updates share a step's learning rate; everything else of an update rule counts updates.
  Optimizer(const OptimizerSpec& spec, int64_t planned_steps, int64_t updates_per_step = 1)
      : spec_(spec), planned_steps_(planned_steps), updates_per_step_(updates_per_step) {}

  // How many f32 tensors as long as the parameters the state has, all zero at first: sgd 0, with momentum 1; adam(w) 2.
  int state_tensors() const;
  int64_t state_bytes(int64_t parameters) const { return 4 * parameters * state_tensors(); }

  // One update of a range: every tensor is that range of its flat buffer. In and out may be the same buffer, or out is
  // overwritten. `update` counts from 1. Requires state_in.size() == state_out.size() == state_tensors().
  void apply(Kernels& kernels, Stream stream, int64_t update, Tensor parameters_in, std::span<const Tensor> state_in, Tensor gradient,
             Tensor parameters_out, std::span<const Tensor> state_out) const;

  // What apply() moves and computes on `elements` parameters, for Device::charge.
  Cost cost(int64_t elements) const;

  const OptimizerSpec& spec() const { return spec_; }

 private:
  OptimizerSpec spec_;
  int64_t planned_steps_;
  int64_t updates_per_step_;
};

}  // namespace xdc
