// Reads an optimizer from a scenario; a key that the chosen kind does not use is never asked for, and so becomes an error.
#include "core/optim/spec.hpp"

#include <string>

namespace xdc {
namespace {

constexpr double kLargestRate = 1e3;
constexpr int64_t kMostSteps = int64_t{1} << 40;
// A beta of exactly 1 would never take a gradient in, and divide by 1 - 1.
constexpr double kLargestBeta = 0.9999999;

ScheduleSpec read_schedule(TableReader& table) {
  ScheduleSpec spec;
  spec.warmup_steps = table.integer("warmup_steps", 0, kMostSteps, 0);
  const std::string kind = table.one_of("kind", {"constant", "linear", "cosine", "step"}, "constant");
  if (kind == "linear" || kind == "cosine") {
    spec.kind = kind == "linear" ? ScheduleKind::linear : ScheduleKind::cosine;
    spec.final_fraction = table.number("final_fraction", 0, 1, 0);
  } else if (kind == "step") {
    spec.kind = ScheduleKind::step;
    spec.decay = table.number("decay", 0, 1, spec.decay);
    const auto every = table.optional_integer("every", 1, kMostSteps);
    if (!every.has_value() && !table.has("every")) {
      table.error("every", "is required: after how many steps the rate is multiplied by decay");
    }
    spec.every = every.value_or(1);
  }
  table.finish();
  return spec;
}

}  // namespace

OptimizerSpec read_optimizer(TableReader& table) {
  OptimizerSpec spec;
  const std::string kind = table.required_one_of("kind", {"sgd", "adam", "adamw"});
  if (kind != "sgd" && kind != "adam" && kind != "adamw") {
    return spec;  // reported; which other keys are right depends on it
  }
  const auto rate = table.optional_number("lr", 0, kLargestRate);
  if (!rate.has_value() && !table.has("lr")) {
    table.error("lr", "is required: the learning rate, for example 1e-3");
  } else if (rate == 0.0) {
    table.error("lr", "must be greater than 0");
  }
  spec.learning_rate = rate.value_or(0);
  spec.weight_decay = table.number("weight_decay", 0, kLargestRate, kind == "adamw" ? 0.01 : 0.0);
  if (kind == "adam" || kind == "adamw") {
    spec.kind = kind == "adam" ? OptimizerKind::adam : OptimizerKind::adamw;
    spec.beta1 = table.number("beta1", 0, kLargestBeta, spec.beta1);
    spec.beta2 = table.number("beta2", 0, kLargestBeta, spec.beta2);
    spec.epsilon = table.number("epsilon", 1e-30, 1, spec.epsilon);
  } else {
    spec.momentum = table.number("momentum", 0, 1, 0);
    spec.nesterov = table.boolean("nesterov", false);
    if (spec.nesterov && spec.momentum == 0) {
      table.error("nesterov", "needs momentum > 0");
    }
  }
  if (const Value* schedule = table.table("schedule"); schedule != nullptr) {
    TableReader inner(*schedule, table.path_of("schedule"), table.diagnostics());
    spec.schedule = read_schedule(inner);
  }
  table.finish();
  return spec;
}

}  // namespace xdc
