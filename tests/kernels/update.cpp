// Do the update rules do what their papers say? Against the formulas in double precision, over several steps.
//
// Tolerance: every step rounds a few times: 1e-6 relative of the parameter after 20 steps.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "core/base/rng.hpp"
#include "core/optim/optimizer.hpp"
#include "tests/kernels/reference.hpp"

namespace xdc {
namespace {

constexpr int kSteps = 20;

std::vector<float> draw(size_t n, const char* name, double size) {
  RandomStream random(21, name);
  std::vector<float> values(n);
  std::ranges::generate(values, [&] { return static_cast<float>(size * random.normal()); });
  return values;
}

struct Naive {
  double p = 0, a = 0, b = 0;  // a: momentum or m; b: v
};

void step_naively(const OptimizerSpec& spec, int64_t t, double g, Naive& x) {
  if (spec.kind == OptimizerKind::sgd) {
    g += spec.weight_decay * x.p;
    x.a = spec.momentum * x.a + g;
    x.p -= spec.learning_rate * (spec.nesterov ? g + spec.momentum * x.a : x.a);
    return;
  }
  if (spec.kind == OptimizerKind::adam) {
    g += spec.weight_decay * x.p;
  } else {
    x.p -= spec.learning_rate * spec.weight_decay * x.p;
  }
  x.a = spec.beta1 * x.a + (1 - spec.beta1) * g;
  x.b = spec.beta2 * x.b + (1 - spec.beta2) * g * g;
  const double m = x.a / (1 - std::pow(spec.beta1, static_cast<double>(t)));
  const double v = x.b / (1 - std::pow(spec.beta2, static_cast<double>(t)));
  x.p -= spec.learning_rate * m / (std::sqrt(v) + spec.epsilon);
}

struct Buffers {
  std::vector<float> p;
  std::vector<std::vector<float>> state;
};

std::vector<Tensor> tensors_of(std::vector<std::vector<float>>& all) {
  std::vector<Tensor> tensors;
  for (auto& one : all) {
    tensors.push_back(tensor_of(one));
  }
  return tensors;
}

void compare(const OptimizerSpec& spec, size_t n) {
  const Optimizer optimizer(spec, 0);
  Buffers now{draw(n, "p", 1.0), std::vector<std::vector<float>>(static_cast<size_t>(optimizer.state_tensors()), std::vector<float>(n))};
  Buffers next = now;
  std::vector<Naive> naive(n);
  for (size_t i = 0; i < n; ++i) {
    naive[i].p = now.p[i];
  }
  for (int64_t t = 1; t <= kSteps; ++t) {
    std::vector<float> g = draw(n, "g", std::pow(10.0, -static_cast<double>(t % 4)));
    optimizer.apply(cpu(), {}, t, tensor_of(now.p), tensors_of(now.state), tensor_of(g), tensor_of(next.p), tensors_of(next.state));
    std::swap(now, next);
    for (size_t i = 0; i < n; ++i) {
      step_naively(spec, t, g[i], naive[i]);
    }
  }
  for (size_t i = 0; i < n; ++i) {
    REQUIRE(now.p[i] == Approx(naive[i].p).epsilon(1e-6).margin(2e-6));
  }
}

OptimizerSpec sgd(double momentum, bool nesterov, double decay) {
  OptimizerSpec spec;
  spec.learning_rate = 0.05;
  spec.momentum = momentum, spec.nesterov = nesterov, spec.weight_decay = decay;
  return spec;
}

OptimizerSpec adam(OptimizerKind kind, double decay) {
  OptimizerSpec spec;
  spec.kind = kind;
  spec.learning_rate = 3e-3;
  spec.weight_decay = decay;
  return spec;
}

TEST_CASE("Every update rule follows its formula in double precision") {
  const std::vector<OptimizerSpec> specs{sgd(0, false, 0),
                                         sgd(0, false, 0.01),
                                         sgd(0.9, false, 0),
                                         sgd(0.9, true, 0.001),
                                         adam(OptimizerKind::adam, 0),
                                         adam(OptimizerKind::adam, 0.01),
                                         adam(OptimizerKind::adamw, 0.1)};
  for (size_t i = 0; i < specs.size(); ++i) {
    for (const size_t n : {1U, 7U, 1000U}) {
      DYNAMIC_SECTION("rule " << i << ", " << n << " elements") { compare(specs[i], n); }
    }
  }
}

TEST_CASE("An update in place, or range by range, gives the bits of a whole update into other buffers") {
  for (const OptimizerSpec& spec : {sgd(0.9, true, 0.01), sgd(0, false, 0), adam(OptimizerKind::adamw, 0.1)}) {
    const Optimizer optimizer(spec, 0);
    const size_t n = 777;
    const auto states = static_cast<size_t>(optimizer.state_tensors());
    std::vector<float> g = draw(n, "g", 1.0);
    Buffers before{draw(n, "p", 1.0), {}};
    for (size_t i = 0; i < states; ++i) {
      before.state.push_back(draw(n, "s", 0.5));
      std::ranges::transform(before.state.back(), before.state.back().begin(), [](float x) { return std::abs(x); });
    }
    Buffers whole{std::vector<float>(n), std::vector<std::vector<float>>(states, std::vector<float>(n))};
    optimizer.apply(cpu(), {}, 3, tensor_of(before.p), tensors_of(before.state), tensor_of(g), tensor_of(whole.p), tensors_of(whole.state));
    Buffers in_place = before;
    for (int64_t at = 0; at < static_cast<int64_t>(n); at += 100) {
      const int64_t count = std::min<int64_t>(100, static_cast<int64_t>(n) - at);
      std::vector<Tensor> state = tensors_of(in_place.state);
      for (Tensor& one : state) {
        one = one.range(at, count);
      }
      const Tensor p = tensor_of(in_place.p).range(at, count);
      optimizer.apply(cpu(), {}, 3, p, state, tensor_of(g).range(at, count), p, state);
    }
    CHECK(in_place.p == whole.p);
    CHECK(in_place.state == whole.state);
  }
}

TEST_CASE("Addition and scaling are what they say, element by element") {
  for (const size_t n : {0U, 1U, 9U, 1025U}) {
    std::vector<float> y = draw(n, "y", 1.0);
    std::vector<float> x = draw(n, "x", 1.0);
    const std::vector<float> before = y;
    cpu().add({}, tensor_of(y), tensor_of(x));
    for (size_t i = 0; i < n; ++i) {
      REQUIRE(y[i] == before[i] + x[i]);
    }
    cpu().scale({}, tensor_of(x), 0.3F);
    const std::vector<float> unscaled = draw(n, "x", 1.0);
    for (size_t i = 0; i < n; ++i) {
      REQUIRE(x[i] == 0.3F * unscaled[i]);
    }
  }
}

}  // namespace
}  // namespace xdc
