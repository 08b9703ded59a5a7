// Softmax, cross-entropy and its gradient, row by row.
#include "core/math/softmax_loss.hpp"

#include <algorithm>

#include "core/base/check.hpp"
#include "core/base/real_math.hpp"

namespace xdc {
namespace {

struct Row {
  double sum = 0;  // of exp(z - max), each of which is in scratch
  double loss = 0;
  int greatest = 0;
};

Row softmax_row(std::span<const float> z, int label, std::span<double> scratch) {
  Row row;
  row.greatest = static_cast<int>(std::ranges::max_element(z) - z.begin());
  const double most = z[static_cast<size_t>(row.greatest)];
  for (size_t c = 0; c < z.size(); ++c) {
    scratch[c] = deterministic_exp(z[c] - most);
    row.sum += scratch[c];
  }
  row.loss = deterministic_log(row.sum) - (z[static_cast<size_t>(label)] - most);
  return row;
}

void check_shapes(std::span<const float> logits, std::span<const int32_t> labels, int classes, std::span<double> scratch) {
  XDC_CHECK(classes > 0 && scratch.size() >= static_cast<size_t>(classes));
  XDC_CHECK(logits.size() == labels.size() * static_cast<size_t>(classes));
  for (const int32_t label : labels) {
    XDC_CHECK_MSG(0 <= label && label < classes, "a label is no class");
  }
}

}  // namespace

double softmax_loss(std::span<const float> logits, std::span<const int32_t> labels, int classes, float scale, std::span<float> gradient,
                    std::span<double> scratch) {
  check_shapes(logits, labels, classes, scratch);
  XDC_CHECK(gradient.size() == logits.size());
  const auto width = static_cast<size_t>(classes);
  double loss = 0;
  for (size_t i = 0; i < labels.size(); ++i) {
    const Row row = softmax_row(logits.subspan(i * width, width), labels[i], scratch);
    loss += row.loss;
    const double factor = scale / row.sum;
    for (size_t c = 0; c < width; ++c) {
      const double onehot = c == static_cast<size_t>(labels[i]) ? scale : 0.0;
      gradient[i * width + c] = static_cast<float>(scratch[c] * factor - onehot);
    }
  }
  return loss;
}

EvaluationSums softmax_evaluate(std::span<const float> logits, std::span<const int32_t> labels, int classes, std::span<double> scratch) {
  check_shapes(logits, labels, classes, scratch);
  const auto width = static_cast<size_t>(classes);
  EvaluationSums sums;
  for (size_t i = 0; i < labels.size(); ++i) {
    const Row row = softmax_row(logits.subspan(i * width, width), labels[i], scratch);
    sums.loss += row.loss;
    sums.correct += row.greatest == labels[i] ? 1 : 0;
  }
  return sums;
}

}  // namespace xdc
