// Is backward the derivative of forward? Every kind of layer, alone and behind others, against central differences of the
// reference in double precision.
//
// Tolerance: a gradient in f32 over at most a few hundred terms: 2e-5 of the largest derivative in the network.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "core/model/zoo.hpp"
#include "tests/kernels/reference.hpp"

namespace xdc {
namespace {

constexpr double kTolerance = 2e-5;

struct Case {
  const char* name;
  NetworkSpec spec;
};

std::vector<Case> cases() {
  return {
      {"dense", NetworkSketch(1, 1, 7).dense(3).spec()},
      {"dense over an image", NetworkSketch(3, 5, 4).dense(2).spec()},
      {"dense, relu, dense", NetworkSketch(1, 3, 13).dense(17).relu().dense(5).spec()},
      {"two dense without relu", NetworkSketch(1, 1, 9).dense(4).dense(3).spec()},
      {"convolution with odd channels", NetworkSketch(3, 9, 7).conv(5, 3, 1).dense(4).spec()},
      {"convolution of one channel", NetworkSketch(1, 8, 8).conv(6, 5, 2).dense(3).spec()},
      {"convolution of one channel, kernel 7, to more than a vector", NetworkSketch(1, 9, 12).conv(11, 7, 3).relu().dense(3).spec()},
      {"convolution of two channels, kernel 5, unpadded", NetworkSketch(2, 7, 9).conv(16, 5, 0).dense(3).spec()},
      {"convolution of one channel behind another", NetworkSketch(3, 8, 6).conv(1, 3, 1).relu().conv(5, 3, 1).dense(3).spec()},
      {"convolution of kernel 1", NetworkSketch(4, 3, 5).conv(7, 1, 0).dense(3).spec()},
      {"convolution of an even kernel", NetworkSketch(2, 6, 7).conv(3, 4, 1).dense(3).spec()},
      {"convolution, relu", NetworkSketch(2, 6, 6).conv(9, 3, 0).relu().dense(3).spec()},
      {"convolution, relu, pool over odd sizes", NetworkSketch(1, 11, 9).conv(4, 3, 0).relu().pool(2).dense(3).spec()},
      {"convolution, pool without relu", NetworkSketch(1, 10, 10).conv(5, 3, 0).pool(2).dense(3).spec()},
      {"pool, then relu", NetworkSketch(2, 8, 8).conv(3, 3, 1).pool(2).relu().dense(3).spec()},
      {"pool of 3 with rows left over", NetworkSketch(2, 11, 10).conv(3, 3, 1).relu().pool(3).dense(3).spec()},
      {"two convolutions", NetworkSketch(2, 7, 8).conv(7, 3, 1).relu().conv(4, 3, 0).relu().dense(3).spec()},
      {"a convolution wider than a vector", NetworkSketch(17, 5, 5).conv(33, 3, 1).relu().conv(18, 3, 0).dense(3).spec()},
      {"relu first", NetworkSketch(2, 4, 4).relu().conv(3, 3, 0).dense(3).spec()},
      {"pool first", NetworkSketch(2, 6, 6).pool(2).conv(3, 3, 1).dense(3).spec()},
      {"relu twice", NetworkSketch(1, 1, 6).dense(8).relu().relu().dense(3).spec()},
      {"convolution behind dense", NetworkSketch(1, 1, 6).dense(8).conv(5, 1, 0).relu().dense(3).spec()},
      {"convolution behind dense, channels that fill no vector", NetworkSketch(1, 1, 6).dense(5).conv(7, 1, 0).relu().dense(3).spec()},
      {"pool behind dense", NetworkSketch(1, 1, 6).dense(5).relu().pool(1).dense(3).spec()},
      {"a convolution that gives the logits", NetworkSketch(2, 3, 3).conv(6, 3, 0).relu().conv(4, 1, 0).spec()},
      {"a pool that gives the logits", NetworkSketch(2, 4, 4).conv(5, 3, 1).pool(4).spec()},
      {"logits behind relu", NetworkSketch(1, 1, 5).dense(4).relu().spec()},
  };
}

// All parameters of a small network; of a large one about `most`, evenly spread.
void compare_gradient(Subject& subject, int count, size_t most) {
  const float scale = 0.25F;
  const float loss = subject.run(count, scale);
  const auto images = subject.images_in_double(count);
  const auto labels = subject.first_labels(count);
  const Doubles parameters = subject.parameters_in_double();
  CHECK(loss == Approx(reference_loss(subject.spec, parameters, images, labels, scale)).epsilon(2e-6).margin(1e-7));
  const size_t stride = std::max<size_t>(1, parameters.size() / most);
  std::vector<std::pair<size_t, double>> wanted;
  double largest = 0;
  for (size_t at = 0; at < parameters.size(); at += stride) {
    wanted.emplace_back(at, reference_derivative(subject.spec, parameters, images, labels, scale, at));
    largest = std::max(largest, std::abs(wanted.back().second));
  }
  REQUIRE(largest > 0);
  for (const auto& [at, derivative] : wanted) {
    if (std::abs(subject.gradient[at] - derivative) > kTolerance * largest) {
      FAIL_CHECK(fmt::format("parameter {}: gradient {}, derivative {}", at, subject.gradient[at], derivative));
    }
  }
}

TEST_CASE("Every kind of layer has the gradient that central differences give") {
  for (const Case& one : cases()) {
    for (const int batch : {1, 3, 16}) {
      DYNAMIC_SECTION(one.name << ", batch " << batch) {
        Subject subject(one.spec, batch, 11);
        compare_gradient(subject, batch, 400);
      }
    }
  }
}

TEST_CASE("Each model of the zoo has the gradient that central differences give") {
  for (const std::string& name : model_names()) {
    DYNAMIC_SECTION(name) {
      Subject subject(make_network(name, 1, 28, 28, 10).value(), 5, 3);
      compare_gradient(subject, 5, 300);
    }
  }
}

TEST_CASE("A tie in a pool sends the gradient to its first element in row-major order") {
  // A convolution by 1x1 copies the image; every window is all ties, so only its first element's input counts.
  const NetworkSpec spec = NetworkSketch(1, 4, 4).conv(1, 1, 0).pool(2).dense(2).spec();
  Subject subject(spec, 1, 5);
  subject.parameters[0] = 0.0F;  // weight 0: all outputs equal the bias
  subject.parameters[1] = 1.0F;
  subject.run(1, 1.0F);
  double wanted = 0;  // d loss / d weight = sum over windows of d loss / d pooled * image at the window's first element
  const Doubles p = subject.parameters_in_double();
  const Doubles z = reference_logits(spec, p, subject.images_in_double(1)[0]);
  const double other = 1.0 / (1.0 + std::exp(z[static_cast<size_t>(subject.labels[0])] - z[static_cast<size_t>(1 - subject.labels[0])]));
  for (size_t window = 0; window < 4; ++window) {
    const size_t weights = 2;  // of the dense layer, [out][in]
    const double by_label = p[weights + static_cast<size_t>(subject.labels[0]) * 4 + window];
    const double by_other = p[weights + static_cast<size_t>(1 - subject.labels[0]) * 4 + window];
    const size_t first = (window / 2) * 8 + (window % 2) * 2;
    wanted += other * (by_other - by_label) * subject.images[first];
  }
  CHECK(subject.gradient[0] == Approx(wanted).epsilon(1e-5));
}

TEST_CASE("Accumulated gradients are the sum of single ones") {
  Subject subject(make_network("lenet", 1, 28, 28, 10).value(), 4, 9);
  subject.run(4, 0.5F);
  const std::vector<float> once = subject.gradient;
  subject.run(4, 0.5F, true);
  for (size_t i = 0; i < once.size(); ++i) {
    REQUIRE(subject.gradient[i] == once[i] + once[i]);
  }
}

TEST_CASE("The gradient is that of the scaled loss") {
  Subject subject(make_network("mlp", 1, 5, 5, 3).value(), 4, 9);
  const float loss = subject.run(4, 1.0F);
  const std::vector<float> whole = subject.gradient;
  CHECK(subject.run(4, 0.25F) == Approx(loss / 4));
  for (size_t i = 0; i < whole.size(); ++i) {
    REQUIRE(subject.gradient[i] == Approx(whole[i] / 4).epsilon(1e-5).margin(1e-9));
  }
}

}  // namespace
}  // namespace xdc
