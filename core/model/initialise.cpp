// Draws the initial weights, layer by layer.
#include "core/model/initialise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/check.hpp"
#include "core/base/rng.hpp"

namespace xdc {
namespace {

bool relu_follows(const NetworkSpec& spec, size_t layer) {
  for (size_t i = layer + 1; i < spec.layers.size() && spec.layers[i].parameters == 0; ++i) {
    if (spec.layers[i].kind == LayerKind::relu) {
      return true;
    }
  }
  return false;
}

double limit(const NetworkSpec& spec, size_t index) {
  const LayerSpec& layer = spec.layers[index];
  const bool conv = layer.kind == LayerKind::conv2d;
  const double window = conv ? double(layer.kernel) * layer.kernel : 1.0;
  const double fan_in = conv ? layer.in_channels * window : static_cast<double>(layer.inputs());
  const double fan_out = layer.out_channels * window;
  return relu_follows(spec, index) ? std::sqrt(6.0 / fan_in) : std::sqrt(6.0 / (fan_in + fan_out));
}

}  // namespace

void initialise_parameters(const NetworkSpec& spec, uint64_t seed, std::span<float> parameters) {
  XDC_CHECK(parameters.size() == static_cast<size_t>(spec.parameters));
  for (size_t i = 0; i < spec.layers.size(); ++i) {
    const LayerSpec& layer = spec.layers[i];
    if (layer.parameters == 0) {
      continue;
    }
    const auto own = parameters.subspan(static_cast<size_t>(layer.first_parameter), static_cast<size_t>(layer.parameters));
    const size_t biases = static_cast<size_t>(layer.out_channels);
    const auto a = static_cast<float>(limit(spec, i));
    RandomStream stream(seed, fmt::format("initialise/{}", i));
    for (float& w : own.first(own.size() - biases)) {
      w = (2.0F * stream.uniform_float() - 1.0F) * a;
    }
    std::ranges::fill(own.last(biases), 0.0F);
  }
}

}  // namespace xdc
