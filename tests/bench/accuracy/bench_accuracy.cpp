// How well does the zoo's LeNet learn the digits, without any network in between? 400 steps of 384 samples, Adam 3e-3, three
// seeds; a prototype reached 98.3 %.
//
//   bench_accuracy [folder with the IDX files] [model]
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <string>

#include "core/data/dataset.hpp"
#include "core/data/sampler.hpp"
#include "core/model/zoo.hpp"
#include "tests/bench/trainer.hpp"

namespace xdc {
namespace {

constexpr int kMicroBatch = 32;
constexpr int kStepSamples = 384;
constexpr int kSteps = 400;

double accuracy(Trainer& trainer, const Dataset& data, const Split& split) {
  int64_t correct = 0;
  std::vector<int32_t> indices(kMicroBatch);
  for (int64_t at = 0; at < split.size(); at += kMicroBatch) {
    const auto count = std::min<int64_t>(kMicroBatch, split.size() - at);
    indices.resize(static_cast<size_t>(count));
    std::iota(indices.begin(), indices.end(), static_cast<int32_t>(at));
    data.gather(split, indices, trainer.images, trainer.labels);
    correct += trainer.evaluate(static_cast<int>(count)).correct;
  }
  return static_cast<double>(correct) / static_cast<double>(split.size());
}

double train(const Dataset& data, const NetworkSpec& spec, uint64_t seed) {
  OptimizerSpec adam;
  adam.kind = OptimizerKind::adam;
  adam.learning_rate = 3e-3;
  Trainer trainer(spec, kMicroBatch, adam, seed);
  std::vector<int32_t> all(static_cast<size_t>(data.train().size()));
  std::iota(all.begin(), all.end(), 0);
  const SampleSchedule schedule({{data.train().size(), 1, kStepSamples}});
  Sampler sampler(schedule, 0, all, seed);
  for (int64_t step = 1; step <= kSteps; ++step) {
    const auto indices = sampler.indices(step);
    const float scale = 1.0F / static_cast<float>(schedule.total(step));
    for (size_t at = 0; at < indices.size(); at += kMicroBatch) {
      const auto part = indices.subspan(at, std::min<size_t>(kMicroBatch, indices.size() - at));
      data.gather(data.train(), part, trainer.images, trainer.labels);
      trainer.gradient_of(static_cast<int>(part.size()), scale, at > 0);
    }
    trainer.update(step);
  }
  return accuracy(trainer, data, data.test());
}

int run(const std::string& folder, const std::string& model) {
  DataSpec source;
  source.source = DataSource::idx;
  source.path = folder;
  const auto data = open_dataset(source, 0);
  if (!data.ok()) {
    fmt::print(stderr, "{}\n", data.error().message);
    return 2;
  }
  const auto& shape = data.value()->shape();
  const auto spec = make_network(model, shape.channels, shape.height, shape.width, shape.classes);
  if (!spec.ok()) {
    fmt::print(stderr, "{}\n", spec.error().message);
    return 2;
  }
  double sum = 0;
  for (const uint64_t seed : {1, 2, 3}) {
    const auto start = std::chrono::steady_clock::now();
    const double reached = train(*data.value(), spec.value(), seed);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    fmt::print("{}, seed {}: {:.2f} % of {} held-out digits after {} steps of {} ({:.1f} s)\n", model, seed, 100 * reached,
               data.value()->test().size(), kSteps, kStepSamples, took.count());
    sum += reached;
  }
  fmt::print("mean of three seeds: {:.2f} %\n", 100 * sum / 3);
  return 0;
}

}  // namespace
}  // namespace xdc

int main(int argc, char** argv) { return xdc::run(argc > 1 ? argv[1] : XDC_SOURCE_DIR "/data/mnist", argc > 2 ? argv[2] : "lenet"); }
