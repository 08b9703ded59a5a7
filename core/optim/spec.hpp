// Which update rule, with which figures?
#pragma once

#include <cstdint>

#include "core/config/table_reader.hpp"

namespace xdc {

enum class OptimizerKind { sgd, adam, adamw };
enum class ScheduleKind { constant, linear, cosine, step };

// Learning rate at step t (from 1) of T planned steps: linear warm-up over `warmup_steps`, then
//   constant  lr
//   linear    lr falling to lr * final_fraction at T
//   cosine    the same along half a cosine
//   step      lr * decay^floor((t - 1) / every)
struct ScheduleSpec {
  ScheduleKind kind = ScheduleKind::constant;
  int64_t warmup_steps = 0;
  double final_fraction = 0;
  double decay = 0.1;
  int64_t every = 0;
};

struct OptimizerSpec {
  OptimizerKind kind = OptimizerKind::sgd;
  double learning_rate = 0;
  double momentum = 0;
  bool nesterov = false;
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  double weight_decay = 0;
  ScheduleSpec schedule;
};

// Reads `optimizer = { kind = "adam", lr = 3e-3, ... }`; keys that the kind does not use are errors.
OptimizerSpec read_optimizer(TableReader& table);

}  // namespace xdc
