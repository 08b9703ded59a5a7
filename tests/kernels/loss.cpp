// Is the loss right where numbers are extreme?
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/math/softmax_loss.hpp"

namespace xdc {
namespace {

struct Answer {
  double loss = 0;
  std::vector<float> gradient;
};

Answer loss_of(std::vector<float> logits, std::vector<int32_t> labels, int classes, float scale = 1.0F) {
  std::vector<double> scratch(static_cast<size_t>(classes));
  Answer answer{0, std::vector<float>(logits.size())};
  answer.loss = softmax_loss(logits, labels, classes, scale, answer.gradient, scratch);
  return answer;
}

TEST_CASE("Equal logits give the logarithm of the number of classes") {
  const Answer answer = loss_of({3, 3, 3, 3}, {2}, 4);
  CHECK(answer.loss == Approx(std::log(4.0)).epsilon(1e-14));
  CHECK(answer.gradient == std::vector<float>{0.25F, 0.25F, -0.75F, 0.25F});
}

TEST_CASE("Large logits overflow nothing") {
  const Answer answer = loss_of({3e38F, -3e38F, 0}, {1}, 3);
  CHECK(answer.loss == Approx(6e38).epsilon(1e-6));
  CHECK(answer.gradient == std::vector<float>{1.0F, -1.0F, 0.0F});
  CHECK(loss_of({1000, -1000}, {0}, 2).loss == 0.0);
}

TEST_CASE("Losses of samples are added and gradients scaled") {
  const Answer one = loss_of({1, 2, 0.5F}, {0}, 3);
  const Answer other = loss_of({-1, 0, 3}, {1}, 3);
  const Answer both = loss_of({1, 2, 0.5F, -1, 0, 3}, {0, 1}, 3, 0.5F);
  CHECK(both.loss == one.loss + other.loss);
  for (size_t c = 0; c < 3; ++c) {
    CHECK(both.gradient[c] == Approx(one.gradient[c] / 2).epsilon(1e-6));
    CHECK(both.gradient[3 + c] == Approx(other.gradient[c] / 2).epsilon(1e-6));
  }
}

TEST_CASE("A row's gradient adds up to nothing") {
  const Answer answer = loss_of({0.3F, -2, 5, 1, 1.5F}, {4}, 5);
  CHECK(std::abs(std::accumulate(answer.gradient.begin(), answer.gradient.end(), 0.0)) < 1e-7);
}

TEST_CASE("A logit that is not a number makes the loss not a number") {
  CHECK(std::isnan(loss_of({std::numeric_limits<float>::quiet_NaN(), 1}, {1}, 2).loss));
  CHECK(std::isnan(loss_of({1, std::numeric_limits<float>::quiet_NaN()}, {0}, 2).loss));
}

TEST_CASE("Of equal greatest logits the lower class is the answer") {
  std::vector<double> scratch(3);
  const std::vector<float> logits{2, 5, 5, 5, 5, 2};
  CHECK(softmax_evaluate(logits, std::vector<int32_t>{1, 0}, 3, scratch).correct == 2);
  CHECK(softmax_evaluate(logits, std::vector<int32_t>{2, 1}, 3, scratch).correct == 0);
}

}  // namespace
}  // namespace xdc
