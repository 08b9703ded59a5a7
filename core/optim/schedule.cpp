// Linear warm-up, then constant, linear, cosine or step decay.
#include "core/optim/schedule.hpp"

#include <algorithm>

#include "core/base/check.hpp"
#include "core/base/real_math.hpp"

namespace xdc {
namespace {

constexpr double kPi = 3.14159265358979323846;

// 0 at the end of the warm-up, 1 at the last planned step.
double progress(const ScheduleSpec& schedule, int64_t step, int64_t planned_steps) {
  XDC_CHECK_MSG(planned_steps >= 1, "this schedule needs to know how many steps are planned");
  const int64_t falling = planned_steps - schedule.warmup_steps;
  if (falling <= 0) {
    return 1.0;
  }
  return std::min(1.0, static_cast<double>(step - schedule.warmup_steps) / static_cast<double>(falling));
}

}  // namespace

double learning_rate(const OptimizerSpec& spec, int64_t step, int64_t planned_steps) {
  const ScheduleSpec& schedule = spec.schedule;
  const double lr = spec.learning_rate;
  XDC_CHECK(step >= 1);
  if (step <= schedule.warmup_steps) {
    return lr * static_cast<double>(step) / static_cast<double>(schedule.warmup_steps);
  }
  switch (schedule.kind) {
    case ScheduleKind::constant:
      return lr;
    case ScheduleKind::linear: {
      const double x = progress(schedule, step, planned_steps);
      return lr * (1.0 - x * (1.0 - schedule.final_fraction));
    }
    case ScheduleKind::cosine: {
      const double x = progress(schedule, step, planned_steps);
      const double fall = 0.5 * (1.0 + deterministic_cos(kPi * x));
      return lr * (schedule.final_fraction + (1.0 - schedule.final_fraction) * fall);
    }
    case ScheduleKind::step:
      XDC_CHECK(schedule.every >= 1);
      return lr * deterministic_pow(schedule.decay, (step - 1) / schedule.every);
  }
  XDC_CHECK_MSG(false, "unknown schedule");
}

}  // namespace xdc
