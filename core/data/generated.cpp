// Draws the classes' pictures, then the samples.
#include "core/data/generated.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "core/base/rng.hpp"

namespace xdc {
namespace {

constexpr int kMostClasses = 256;
constexpr int64_t kMostBytes = int64_t{1} << 34;
constexpr double kBackground = 96, kPicture = 24, kNoise = 48;  // pixel levels
constexpr double kByteSumMean = 510.0;                          // of four uniform bytes
constexpr double kByteSumDeviation = 147.79;                    // sqrt(4 * (256^2 - 1) / 12)

struct Samples {
  std::vector<uint8_t> pixels, labels;
  Split view() const { return {pixels, labels}; }
};

// One class's mean, in pixel levels.
std::vector<float> make_mean(const Dataset::Shape& shape, uint64_t seed, int label) {
  RandomStream stream(seed, "data/generated/mean", static_cast<uint32_t>(label));
  const int block = std::clamp(std::min(shape.height, shape.width) / 6, 1, 4);
  const int rows = (shape.height + block - 1) / block;
  const int columns = (shape.width + block - 1) / block;
  std::vector<double> mean;
  double squares = 0;
  for (int c = 0; c < shape.channels; ++c) {
    std::vector<double> coarse(static_cast<size_t>(rows) * static_cast<size_t>(columns));
    std::ranges::generate(coarse, [&] { return stream.normal(); });
    for (int y = 0; y < shape.height; ++y) {
      for (int x = 0; x < shape.width; ++x) {
        mean.push_back(coarse[static_cast<size_t>(y / block) * static_cast<size_t>(columns) + static_cast<size_t>(x / block)]);
        squares += mean.back() * mean.back();
      }
    }
  }
  const double size = std::max(std::sqrt(squares / static_cast<double>(mean.size())), 1e-6);
  std::vector<float> levels(mean.size());
  std::ranges::transform(mean, levels.begin(), [&](double m) { return static_cast<float>(kBackground + kPicture * m / size); });
  return levels;
}

uint8_t noisy(float level, uint32_t word) {
  const auto sum = static_cast<float>((word & 0xFFU) + ((word >> 8) & 0xFFU) + ((word >> 16) & 0xFFU) + (word >> 24));
  constexpr auto kScale = static_cast<float>(kNoise / kByteSumDeviation);
  const float value = level + kScale * (sum - static_cast<float>(kByteSumMean));
  return static_cast<uint8_t>(std::clamp(value + 0.5F, 0.0F, 255.0F));
}

Samples make_samples(std::string_view name, int64_t count, const std::vector<std::vector<float>>& means, uint64_t seed) {
  RandomStream stream(seed, name);
  Samples samples;
  samples.pixels.reserve(static_cast<size_t>(count) * means.front().size());
  for (int64_t i = 0; i < count; ++i) {
    const auto label = static_cast<size_t>(i) % means.size();
    for (const float level : means[label]) {
      samples.pixels.push_back(noisy(level, stream.next_u32()));
    }
    samples.labels.push_back(static_cast<uint8_t>(label));
  }
  return samples;
}

}  // namespace

Result<std::shared_ptr<const Dataset>> generate(const DataSpec& spec, uint64_t seed) {
  const auto invalid = [](const std::string& why) { return Error{ErrorCode::invalid, "generated data: " + why}; };
  if (spec.channels < 1 || spec.height < 1 || spec.width < 1) {
    return invalid(fmt::format("images of {} x {} x {} have no pixels", spec.channels, spec.height, spec.width));
  }
  if (spec.classes < 2 || spec.classes > kMostClasses) {
    return invalid(fmt::format("{} classes; 2 to {} are possible", spec.classes, kMostClasses));
  }
  if (spec.train_samples < 1 || spec.test_samples < 1) {
    return invalid(fmt::format("{} samples to train on and {} to test on; at least 1 of each", spec.train_samples, spec.test_samples));
  }
  const Dataset::Shape shape{spec.channels, spec.height, spec.width, spec.classes};
  if (spec.train_samples > kMostBytes / shape.inputs() || spec.test_samples > kMostBytes / shape.inputs()) {
    return invalid(
        fmt::format("{} and {} samples of {} bytes are too many to hold", spec.train_samples, spec.test_samples, shape.inputs()));
  }
  std::vector<std::vector<float>> means;
  for (int label = 0; label < spec.classes; ++label) {
    means.push_back(make_mean(shape, seed, label));
  }
  const auto owner = std::make_shared<std::pair<Samples, Samples>>(make_samples("data/generated/train", spec.train_samples, means, seed),
                                                                   make_samples("data/generated/test", spec.test_samples, means, seed));
  return std::shared_ptr<const Dataset>(std::make_shared<Dataset>(shape, owner->first.view(), owner->second.view(), owner));
}

}  // namespace xdc
