// Do rows that hold no sample stay without any effect?
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "core/model/zoo.hpp"
#include "tests/kernels/reference.hpp"

namespace xdc {
namespace {

NetworkSpec lenet() { return make_network("lenet", 1, 28, 28, 10).value(); }

// What lies behind the samples, to be ignored.
void spoil(Subject& subject, int count) {
  std::fill(subject.images.begin() + static_cast<std::ptrdiff_t>(count * subject.spec.inputs()), subject.images.end(),
            std::numeric_limits<float>::quiet_NaN());
  std::fill(subject.labels.begin() + count, subject.labels.end(), -7);
}

TEST_CASE("A partial batch gives the loss and gradient of a network compiled for its size") {
  for (const char* model : {"linear", "mlp", "lenet"}) {
    for (const int count : {1, 2, 7, 15}) {
      DYNAMIC_SECTION(model << ", " << count << " of 16") {
        const NetworkSpec spec = make_network(model, 1, 28, 28, 10).value();
        Subject padded(spec, 16, 4);
        Subject exact(spec, count, 4);
        exact.parameters = padded.parameters;
        std::copy_n(padded.images.begin(), exact.images.size(), exact.images.begin());
        std::copy_n(padded.labels.begin(), exact.labels.size(), exact.labels.begin());
        spoil(padded, count);
        CHECK(padded.run(count, 0.1F) == Approx(exact.run(count, 0.1F)).epsilon(1e-6));
        float largest = 0;
        for (const float g : exact.gradient) {
          largest = std::max(largest, std::abs(g));
        }
        for (size_t i = 0; i < exact.gradient.size(); ++i) {
          REQUIRE(std::abs(padded.gradient[i] - exact.gradient[i]) <= 1e-6F * largest);
        }
      }
    }
  }
}

TEST_CASE("What lies behind the last sample changes no bit, nor does an earlier, fuller batch") {
  Subject subject(lenet(), 8, 6);
  const float loss = subject.run(5, 0.2F);
  const std::vector<float> gradient = subject.gradient;
  subject.run(8, 0.2F);
  CHECK(subject.gradient != gradient);
  spoil(subject, 5);
  CHECK(subject.run(5, 0.2F) == loss);
  CHECK(subject.gradient == gradient);
}

TEST_CASE("Evaluation counts only the samples it is given and leaves training untouched") {
  Subject subject(lenet(), 8, 6);
  const auto evaluate = [&](int count) {
    return subject.network->evaluate({}, tensor_of(subject.parameters), tensor_of(subject.images), tensor_of(subject.labels), count);
  };
  subject.run(8, 1.0F);
  const std::vector<float> gradient = subject.gradient;
  const EvaluationSums all = evaluate(8);
  const EvaluationSums five = evaluate(5);
  CHECK(all.loss == Approx(reference_loss(subject.spec, subject.parameters_in_double(), subject.images_in_double(8), subject.labels, 1.0)));
  CHECK(five.loss ==
        Approx(reference_loss(subject.spec, subject.parameters_in_double(), subject.images_in_double(5), subject.first_labels(5), 1.0)));
  int64_t correct = 0;
  for (int i = 0; i < 8; ++i) {
    const Doubles z = reference_logits(subject.spec, subject.parameters_in_double(), subject.images_in_double(8)[static_cast<size_t>(i)]);
    correct += std::ranges::max_element(z) - z.begin() == subject.labels[static_cast<size_t>(i)] ? 1 : 0;
  }
  CHECK(all.correct == correct);
  subject.run(8, 1.0F);
  CHECK(subject.gradient == gradient);
}

}  // namespace
}  // namespace xdc
