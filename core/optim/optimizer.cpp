// Hands the right arguments to the kernel of the update rule.
#include "core/optim/optimizer.hpp"

#include "core/base/check.hpp"
#include "core/optim/schedule.hpp"

namespace xdc {

int Optimizer::state_tensors() const {
  if (spec_.kind == OptimizerKind::sgd) {
    return spec_.momentum == 0 ? 0 : 1;
  }
  return 2;
}

void Optimizer::apply(Kernels& kernels, Stream stream, int64_t update, Tensor parameters_in, std::span<const Tensor> state_in,
                      Tensor gradient, Tensor parameters_out, std::span<const Tensor> state_out) const {
  XDC_CHECK(static_cast<int>(state_in.size()) == state_tensors() && state_out.size() == state_in.size());
  const auto rate = static_cast<float>(learning_rate(spec_, (update - 1) / updates_per_step_ + 1, planned_steps_));
  if (spec_.kind == OptimizerKind::sgd) {
    SgdArgs args;
    args.parameters_in = parameters_in, args.parameters_out = parameters_out;
    args.gradient = gradient;
    if (!state_in.empty()) {
      args.momentum_in = state_in[0], args.momentum_out = state_out[0];
    }
    args.learning_rate = rate;
    args.momentum = static_cast<float>(spec_.momentum);
    args.weight_decay = static_cast<float>(spec_.weight_decay);
    args.nesterov = spec_.nesterov;
    kernels.sgd(stream, args);
    return;
  }
  AdamArgs args;
  args.parameters_in = parameters_in, args.parameters_out = parameters_out;
  args.gradient = gradient;
  args.m_in = state_in[0], args.m_out = state_out[0];
  args.v_in = state_in[1], args.v_out = state_out[1];
  args.step = update;
  args.learning_rate = rate;
  args.beta1 = static_cast<float>(spec_.beta1), args.beta2 = static_cast<float>(spec_.beta2);
  args.epsilon = static_cast<float>(spec_.epsilon);
  args.weight_decay = static_cast<float>(spec_.weight_decay);
  args.decoupled = spec_.kind == OptimizerKind::adamw;
  kernels.adam(stream, args);
}

Cost Optimizer::cost(int64_t elements) const {
  const auto n = static_cast<double>(elements);
  // Parameters and state are read and written, the gradient is read.
  const double bytes = 4.0 * n * (3.0 + 2.0 * state_tensors());
  const double operations = n * (spec_.kind == OptimizerKind::sgd ? 2.0 + 2.0 * state_tensors() : 14.0);
  return {operations, bytes};
}

}  // namespace xdc
