// How fast does LeNet train on one core? Whole steps: forward, backward, update; batch 32 and 64; images per second.
//
//   bench_lenet portable|native [seconds] [adam|none]     prints one line per batch: "<numerics> <batch> <images/s>"
//
// Numerics are a setting of the process: compare.sh starts one for each, in turn with PyTorch.
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "core/base/rng.hpp"
#include "core/math/numerics.hpp"
#include "core/model/zoo.hpp"
#include "tests/bench/trainer.hpp"

namespace xdc {
namespace {

constexpr int kStepsAtOnce = 20;

// Of this process, all threads together.
double cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double images_per_second(const NetworkSpec& spec, int batch, double seconds, bool update) {
  OptimizerSpec adam;
  adam.kind = OptimizerKind::adam;
  adam.learning_rate = 1e-3;
  Trainer trainer(spec, batch, adam, 1);
  RandomStream random(1, "bench/images");
  for (float& pixel : trainer.images) {
    pixel = random.uniform_float();
  }
  for (int32_t& label : trainer.labels) {
    label = static_cast<int32_t>(random.below(static_cast<uint64_t>(spec.classes)));
  }
  int64_t step = 0;
  const auto run = [&] {
    for (int i = 0; i < kStepsAtOnce; ++i) {
      trainer.gradient_of(batch, 1.0F / static_cast<float>(batch), false);
      if (update) {
        trainer.update(++step);
      }
    }
  };
  run();  // warm
  // The machine may be shared: time is that of the processor, and the best stretch says what the code can do.
  double best = 0;
  for (const double start = cpu_seconds(); cpu_seconds() - start < seconds;) {
    const double before = cpu_seconds();
    run();
    best = std::max(best, batch * kStepsAtOnce / (cpu_seconds() - before));
  }
  return best;
}

int run(std::string_view numerics, double seconds, bool update) {
  if (numerics != "portable" && numerics != "native") {
    fmt::print(stderr, "usage: bench_lenet portable|native [seconds] [adam|none]\n");
    return 2;
  }
  const auto pinned = pin_numerics(numerics == "portable" ? CpuNumerics::portable : CpuNumerics::native);
  if (!pinned.ok()) {
    fmt::print(stderr, "{}\n", pinned.error().message);
    return 3;
  }
  const NetworkSpec spec = make_network("lenet", 1, 28, 28, 10).value();
  fmt::print("# {}\n", describe_numerics());
  for (const int batch : {32, 64}) {
    fmt::print("{} {} {:.0f}\n", numerics, batch, images_per_second(spec, batch, seconds, update));
  }
  return 0;
}

}  // namespace
}  // namespace xdc

int main(int argc, char** argv) {
  return xdc::run(argc > 1 ? argv[1] : "", argc > 2 ? std::atof(argv[2]) : 2.0, argc <= 3 || std::string_view(argv[3]) == "adam");
}
