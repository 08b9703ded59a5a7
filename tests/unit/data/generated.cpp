// Can generated data be learnt, and does it come from the seed alone?
#include "core/data/generated.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>

#include "core/data/sampler.hpp"
#include "core/model/zoo.hpp"
#include "tests/bench/trainer.hpp"

namespace xdc {
namespace {

DataSpec spec_of(int64_t train, int64_t test) {
  DataSpec spec;
  spec.train_samples = train;
  spec.test_samples = test;
  return spec;
}

bool same(const Split& a, const Split& b) { return std::ranges::equal(a.pixels, b.pixels) && std::ranges::equal(a.labels, b.labels); }

TEST_CASE("The seed alone decides generated data; train and test differ") {
  const auto a = generate(spec_of(100, 100), 7).value();
  const auto b = generate(spec_of(100, 100), 7).value();
  const auto c = generate(spec_of(100, 100), 8).value();
  CHECK(same(a->train(), b->train()));
  CHECK(same(a->test(), b->test()));
  CHECK(!same(a->train(), c->train()));
  CHECK(!same(a->train(), a->test()));
}

TEST_CASE("More samples leave the first ones as they were") {
  const auto few = generate(spec_of(50, 10), 7).value();
  const auto many = generate(spec_of(80, 10), 7).value();
  CHECK(std::ranges::equal(few->train().pixels, many->train().pixels.first(few->train().pixels.size())));
  CHECK(same(few->test(), many->test()));
}

TEST_CASE("Every class has its part of the samples") {
  const auto data = generate(spec_of(1000, 100), 7).value();
  for (int label = 0; label < 10; ++label) {
    CHECK(std::ranges::count(data->train().labels, static_cast<uint8_t>(label)) == 100);
  }
}

double accuracy_after(const char* model, const DataSpec& spec, int epochs) {
  const auto data = generate(spec, 7).value();
  const auto& shape = data->shape();
  constexpr int kBatch = 50;
  OptimizerSpec adam;
  adam.kind = OptimizerKind::adam;
  adam.learning_rate = 3e-3;
  Trainer trainer(make_network(model, shape.channels, shape.height, shape.width, shape.classes).value(), kBatch, adam, 7);
  std::vector<int32_t> all(static_cast<size_t>(spec.train_samples));
  std::iota(all.begin(), all.end(), 0);
  const SampleSchedule schedule({{spec.train_samples, 1, kBatch}});
  Sampler sampler(schedule, 0, all, 7);
  for (int64_t step = 1; step <= epochs * schedule.steps_per_epoch(); ++step) {
    const auto indices = sampler.indices(step);
    data->gather(data->train(), indices, trainer.images, trainer.labels);
    trainer.gradient_of(static_cast<int>(indices.size()), 1.0F / static_cast<float>(schedule.total(step)), false);
    trainer.update(step);
  }
  int64_t correct = 0;
  for (int64_t at = 0; at < spec.test_samples; at += kBatch) {
    all.resize(static_cast<size_t>(std::min<int64_t>(kBatch, spec.test_samples - at)));
    std::iota(all.begin(), all.end(), static_cast<int32_t>(at));
    data->gather(data->test(), all, trainer.images, trainer.labels);
    correct += trainer.evaluate(static_cast<int>(all.size())).correct;
  }
  return static_cast<double>(correct) / static_cast<double>(spec.test_samples);
}

TEST_CASE("An mlp learns generated data to more than 97 % in three epochs") { CHECK(accuracy_after("mlp", spec_of(2000, 500), 3) > 0.97); }

TEST_CASE("Every model learns generated data in five epochs, small images too") {
  DataSpec spec = spec_of(2000, 500);
  CHECK(accuracy_after("linear", spec, 5) > 0.97);
  CHECK(accuracy_after("lenet", spec, 5) > 0.97);
  spec.height = 12, spec.width = 16, spec.channels = 2, spec.classes = 4;
  CHECK(accuracy_after("mlp", spec, 5) > 0.97);
  CHECK(accuracy_after("lenet", spec, 5) > 0.97);
}

TEST_CASE("Data that cannot be generated says why") {
  const auto message = [](const DataSpec& spec) { return generate(spec, 7).error().message; };
  CHECK_THAT(message(spec_of(0, 10)), Catch::Contains("0 samples to train on"));
  CHECK_THAT(message(spec_of(10, 0)), Catch::Contains("0 to test on"));
  DataSpec spec = spec_of(10, 10);
  spec.classes = 257;
  CHECK_THAT(message(spec), Catch::Contains("257 classes; 2 to 256"));
  spec = spec_of(int64_t{1} << 40, 10);
  CHECK_THAT(message(spec), Catch::Contains("too many"));
  spec = spec_of(10, 10);
  spec.height = 0;
  CHECK_THAT(message(spec), Catch::Contains("no pixels"));
}

}  // namespace
}  // namespace xdc
