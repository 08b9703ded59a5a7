// How wrong are the logits, and which way is better? Softmax and cross-entropy, with exp and log of our own.
#pragma once

#include <cstdint>
#include <span>

#include "core/seam/kernels.hpp"

namespace xdc {

// Row i of `logits` [count, classes] with its label: loss_i = log(sum_c exp(z_c - max)) - (z_label - max), in double.
// Sums over samples are taken in their order. Requires 0 <= label < classes. `scratch` holds at least `classes` values.
//
//   gradient  f32 [count, classes], overwritten: scale * (softmax(z)_c - [c == label])
// Returns the sum of losses, not scaled.
double softmax_loss(std::span<const float> logits, std::span<const int32_t> labels, int classes, float scale, std::span<float> gradient,
                    std::span<double> scratch);

// The same loss, and how many rows have their greatest logit (the first of equals) at the label.
EvaluationSums softmax_evaluate(std::span<const float> logits, std::span<const int32_t> labels, int classes, std::span<double> scratch);

}  // namespace xdc
