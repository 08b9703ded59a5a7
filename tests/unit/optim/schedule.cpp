// Does the learning rate go where its schedule says?
#include "core/optim/schedule.hpp"

#include <catch2/catch.hpp>
#include <cmath>

namespace xdc {
namespace {

OptimizerSpec with(ScheduleSpec schedule) {
  OptimizerSpec spec;
  spec.learning_rate = 0.5;
  spec.schedule = schedule;
  return spec;
}

TEST_CASE("A constant rate stays what it is") {
  const OptimizerSpec spec = with({});
  CHECK(learning_rate(spec, 1, 0) == 0.5);
  CHECK(learning_rate(spec, 1'000'000, 0) == 0.5);
}

TEST_CASE("A warm-up rises in equal parts and ends at the full rate") {
  const OptimizerSpec spec = with({.warmup_steps = 4});
  CHECK(learning_rate(spec, 1, 0) == 0.125);
  CHECK(learning_rate(spec, 3, 0) == 0.375);
  CHECK(learning_rate(spec, 4, 0) == 0.5);
  CHECK(learning_rate(spec, 5, 0) == 0.5);
}

TEST_CASE("A linear schedule reaches its final fraction at the last planned step and stays there") {
  const OptimizerSpec spec = with({.kind = ScheduleKind::linear, .warmup_steps = 2, .final_fraction = 0.2});
  CHECK(learning_rate(spec, 2, 12) == 0.5);
  CHECK(learning_rate(spec, 7, 12) == Approx(0.3).epsilon(1e-15));
  CHECK(learning_rate(spec, 12, 12) == Approx(0.1).epsilon(1e-15));
  CHECK(learning_rate(spec, 99, 12) == Approx(0.1).epsilon(1e-15));
}

TEST_CASE("A cosine schedule is half of a cosine") {
  const OptimizerSpec spec = with({.kind = ScheduleKind::cosine, .final_fraction = 0.1});
  for (const int64_t step : {1, 17, 50, 75, 100}) {
    const double x = static_cast<double>(step) / 100;
    CHECK(learning_rate(spec, step, 100) == Approx(0.5 * (0.1 + 0.9 * 0.5 * (1 + std::cos(3.14159265358979 * x)))).epsilon(1e-12));
  }
  CHECK(learning_rate(spec, 100, 100) == Approx(0.05).epsilon(1e-15));
}

TEST_CASE("A step schedule falls after every so many steps") {
  const OptimizerSpec spec = with({.kind = ScheduleKind::step, .decay = 0.5, .every = 10});
  CHECK(learning_rate(spec, 10, 0) == 0.5);
  CHECK(learning_rate(spec, 11, 0) == 0.25);
  CHECK(learning_rate(spec, 31, 0) == 0.0625);
}

TEST_CASE("A warm-up as long as the run leaves no steps to fall in, and divides by nothing") {
  const OptimizerSpec spec = with({.kind = ScheduleKind::cosine, .warmup_steps = 10});
  CHECK(learning_rate(spec, 10, 10) == 0.5);
  CHECK(learning_rate(spec, 11, 10) == Approx(0.0).margin(1e-16));
}

}  // namespace
}  // namespace xdc
