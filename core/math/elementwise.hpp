// What is done to every element alone? Additions, update rules, relu's derivative. Vector code and scalar code give the same
// bits, because each element's operations are the same ones in the same order.
#pragma once

#include <cstdint>
#include <span>

namespace xdc {

// y[i] += x[i].
void add_elements(std::span<float> y, std::span<const float> x);
// y[i] = a * y[i].
void scale_elements(std::span<float> y, float a);
// x[i] = max(x[i], 0). NaN gives 0.
void relu_elements(std::span<float> x);
// d[i] = y[i] > 0 ? d[i] : 0.
void relu_gradient_elements(std::span<float> d, std::span<const float> y);

// b = momentum * b + g', g' = g + weight_decay * p; p -= rate * (nesterov ? g' + momentum * b : b).
struct SgdFactors {
  float learning_rate = 0, momentum = 0, weight_decay = 0;
  bool nesterov = false;
};
// Any out may be its in. With momentum == 0, b_in and b_out are empty.
void sgd_elements(const SgdFactors& f, std::span<const float> p_in, std::span<const float> g, std::span<const float> b_in,
                  std::span<float> p_out, std::span<float> b_out);

// Kingma & Ba 2015, algorithm 1, with the bias corrections taken out of the loop:
//   p -= (rate / (1 - beta1^t)) * m / (sqrt(v) * (1 / sqrt(1 - beta2^t)) + epsilon)
// Coupled decay: g += weight_decay * p. Decoupled (Loshchilov & Hutter 2019, algorithm 2): p -= rate * weight_decay * p first.
struct AdamFactors {
  float corrected_rate = 0;           // rate / (1 - beta1^t)
  float inverse_sqrt_correction = 0;  // 1 / sqrt(1 - beta2^t)
  float beta1 = 0, one_minus_beta1 = 0, beta2 = 0, one_minus_beta2 = 0;
  float epsilon = 0;
  float coupled_decay = 0;
  float kept = 1;  // 1 - rate * decoupled decay
};
AdamFactors adam_factors(int64_t step, float learning_rate, float beta1, float beta2, float epsilon, float weight_decay, bool decoupled);
void adam_elements(const AdamFactors& f, std::span<const float> p_in, std::span<const float> g, std::span<const float> m_in,
                   std::span<const float> v_in, std::span<float> p_out, std::span<float> m_out, std::span<float> v_out);

}  // namespace xdc
