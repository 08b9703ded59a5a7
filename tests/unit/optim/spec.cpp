// Does a scenario's optimizer become what its writer meant, and does a wrong one say what is wrong?
#include "core/optim/spec.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "core/config/toml_reader.hpp"

namespace xdc {
namespace {

struct Read {
  OptimizerSpec spec;
  Diagnostics diagnostics;
};

// `text`: the optimizer's table, as lines of TOML.
Read read(const char* text) {
  Read result;
  const auto value = parse_toml(text, "test.toml", result.diagnostics);
  REQUIRE(value.has_value());
  TableReader reader(*value, "train.optimizer", result.diagnostics);
  result.spec = read_optimizer(reader);
  return result;
}

OptimizerSpec good(const char* text) {
  const Read result = read(text);
  CHECK(result.diagnostics.text().empty());
  return result.spec;
}

std::string errors(const char* text) { return read(text).diagnostics.text(); }

TEST_CASE("Every key of every kind of optimizer is read") {
  const OptimizerSpec sgd = good("kind = 'sgd'\nlr = 0.1\nmomentum = 0.9\nnesterov = true\nweight_decay = 1e-4");
  CHECK(sgd.kind == OptimizerKind::sgd);
  CHECK(sgd.learning_rate == 0.1);
  CHECK(sgd.momentum == 0.9);
  CHECK(sgd.nesterov);
  CHECK(sgd.weight_decay == 1e-4);
  const OptimizerSpec adam = good("kind = 'adam'\nlr = 3e-3\nbeta1 = 0.8\nbeta2 = 0.99\nepsilon = 1e-6");
  CHECK(adam.kind == OptimizerKind::adam);
  CHECK(adam.beta1 == 0.8);
  CHECK(adam.beta2 == 0.99);
  CHECK(adam.epsilon == 1e-6);
  CHECK(adam.weight_decay == 0);
  CHECK(good("kind = 'adamw'\nlr = 1").weight_decay == 0.01);
}

TEST_CASE("Schedules are read with their own keys") {
  const auto scheduled = [](const std::string& schedule) {
    return good(("kind = 'sgd'\nlr = 0.1\nschedule = { " + schedule + " }").c_str()).schedule;
  };
  const ScheduleSpec cosine = scheduled("kind = 'cosine', warmup_steps = 50, final_fraction = 0.1");
  CHECK(cosine.kind == ScheduleKind::cosine);
  CHECK(cosine.warmup_steps == 50);
  CHECK(cosine.final_fraction == 0.1);
  const ScheduleSpec step = scheduled("kind = 'step', every = 100, decay = 0.3");
  CHECK(step.kind == ScheduleKind::step);
  CHECK(step.every == 100);
  CHECK(step.decay == 0.3);
  CHECK(scheduled("kind = 'linear'").kind == ScheduleKind::linear);
  CHECK(scheduled("warmup_steps = 5").kind == ScheduleKind::constant);
}

TEST_CASE("What is missing, unknown, out of range or meant for another kind is named") {
  CHECK_THAT(errors("lr = 0.1"), Catch::Contains("train.optimizer.kind"));
  CHECK_THAT(errors("kind = 'adan'\nlr = 0.1"), Catch::Contains("adam"));
  CHECK_THAT(errors("kind = 'adam'"), Catch::Contains("train.optimizer.lr"));
  CHECK_THAT(errors("kind = 'adam'\nlr = 0.0"), Catch::Contains("greater than 0"));
  CHECK_THAT(errors("kind = 'adam'\nlr = -1.0"), Catch::Contains("train.optimizer.lr"));
  CHECK_THAT(errors("kind = 'adam'\nlr = 'fast'"), Catch::Contains("train.optimizer.lr") && !Catch::Contains("required"));
  CHECK_THAT(errors("kind = 'adam'\nlr = 0.1\nmomentum = 0.9"), Catch::Contains("train.optimizer.momentum"));
  CHECK_THAT(errors("kind = 'sgd'\nlr = 0.1\nbeta1 = 0.9"), Catch::Contains("train.optimizer.beta1"));
  CHECK_THAT(errors("kind = 'sgd'\nlr = 0.1\nnesterov = true"), Catch::Contains("momentum > 0"));
  CHECK_THAT(errors("kind = 'adam'\nlr = 0.1\nbeta2 = 1.0"), Catch::Contains("train.optimizer.beta2"));
  const auto scheduled = [](const std::string& schedule) {
    return errors(("kind = 'sgd'\nlr = 0.1\nschedule = { " + schedule + " }").c_str());
  };
  CHECK_THAT(scheduled("kind = 'step'"), Catch::Contains("train.optimizer.schedule.every"));
  CHECK_THAT(scheduled("kind = 'constant', decay = 0.5"), Catch::Contains("train.optimizer.schedule.decay"));
  CHECK_THAT(scheduled("kind = 'cosine', final_fraction = 2.0"), Catch::Contains("train.optimizer.schedule.final_fraction"));
}

}  // namespace
}  // namespace xdc
