// Do all members start from the same, sensible parameters?
#include "core/model/initialise.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "core/model/zoo.hpp"

namespace xdc {
namespace {

std::vector<float> initial(const NetworkSpec& spec, uint64_t seed) {
  std::vector<float> parameters(static_cast<size_t>(spec.parameters), 99.0F);
  initialise_parameters(spec, seed, parameters);
  return parameters;
}

std::span<const float> weights_of(const NetworkSpec& spec, size_t layer, const std::vector<float>& parameters) {
  const LayerSpec& l = spec.layers[layer];
  return std::span<const float>(parameters)
      .subspan(static_cast<size_t>(l.first_parameter), static_cast<size_t>(l.parameters - l.out_channels));
}

TEST_CASE("The same seed gives the same parameters, another seed others") {
  const NetworkSpec spec = make_network("lenet", 1, 28, 28, 10).value();
  CHECK(initial(spec, 7) == initial(spec, 7));
  CHECK(initial(spec, 7) != initial(spec, 8));
}

TEST_CASE("Weights fill the range that He and Glorot give, biases are zero") {
  const NetworkSpec spec = make_network("lenet", 1, 28, 28, 10).value();
  const std::vector<float> parameters = initial(spec, 7);
  const auto check = [&](size_t layer, double limit) {
    const auto weights = weights_of(spec, layer, parameters);
    const auto [least, most] = std::ranges::minmax(weights);
    CHECK(least >= -limit);
    CHECK(most <= limit);
    CHECK(most - least > 1.8 * limit);
    double squares = 0;
    for (const float w : weights) {
      squares += double(w) * w;
    }
    // The variance of a uniform draw is a third of the square of its limit; three standard errors.
    const auto n = static_cast<double>(weights.size());
    CHECK(squares / n == Approx(limit * limit / 3).epsilon(3 * 0.9 / std::sqrt(n)));
    const LayerSpec& l = spec.layers[layer];
    for (int64_t i = l.first_parameter + l.parameters - l.out_channels; i < l.first_parameter + l.parameters; ++i) {
      CHECK(parameters[static_cast<size_t>(i)] == 0.0F);
    }
  };
  check(0, std::sqrt(6.0 / 25));
  check(3, std::sqrt(6.0 / 150));
  check(6, std::sqrt(6.0 / 400));
  check(8, std::sqrt(6.0 / 120));
  check(10, std::sqrt(6.0 / 94));  // no relu behind it: Glorot
}

TEST_CASE("Changing one layer leaves the other layers' weights as they were") {
  const NetworkSpec ten = make_network("lenet", 1, 28, 28, 10).value();
  const NetworkSpec twelve = make_network("lenet", 1, 28, 28, 12).value();
  const std::vector<float> a = initial(ten, 3);
  const std::vector<float> b = initial(twelve, 3);
  const auto until = static_cast<std::ptrdiff_t>(ten.layers.back().first_parameter);
  CHECK(std::equal(a.begin(), a.begin() + until, b.begin()));
}

TEST_CASE("Two layers of the same shape have different weights") {
  const NetworkSpec spec = make_network("lenet", 1, 28, 28, 10).value();
  const std::vector<float> parameters = initial(spec, 3);
  const auto first = weights_of(spec, 6, parameters);
  const auto second = weights_of(spec, 8, parameters);
  CHECK(first[0] / std::sqrt(6.0F / 400) != Approx(second[0] / std::sqrt(6.0F / 120)));
}

}  // namespace
}  // namespace xdc
