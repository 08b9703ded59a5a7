// Each loop is compiled twice (core/math/vectorised.hpp). `ivdep`: an out that is its in (the only overlap allowed) is no reason
// not to vectorise.
#include "core/math/elementwise.hpp"

#include <cmath>
#include <cstddef>

#include "core/base/check.hpp"
#include "core/base/real_math.hpp"
#include "core/math/vectorised.hpp"

namespace xdc {

void add_elements(std::span<float> y, std::span<const float> x) {
  XDC_CHECK(x.size() == y.size());
  run_vectorised(
      [ out = y.data(), in = x.data() ](size_t n) __attribute__((always_inline)) {
#pragma GCC ivdep
        for (size_t i = 0; i < n; ++i) {
          out[i] = out[i] + in[i];
        }
      },
      y.size());
}

void scale_elements(std::span<float> y, float a) {
  run_vectorised(
      [ out = y.data(), a ](size_t n) __attribute__((always_inline)) {
#pragma GCC ivdep
        for (size_t i = 0; i < n; ++i) {
          out[i] = a * out[i];
        }
      },
      y.size());
}

void relu_elements(std::span<float> x) {
  run_vectorised(
      [out = x.data()](size_t n) __attribute__((always_inline)) {
#pragma GCC ivdep
        for (size_t i = 0; i < n; ++i) {
          out[i] = out[i] > 0.0F ? out[i] : 0.0F;
        }
      },
      x.size());
}

void relu_gradient_elements(std::span<float> d, std::span<const float> y) {
  XDC_CHECK(d.size() == y.size());
  run_vectorised(
      [ out = d.data(), in = y.data() ](size_t n) __attribute__((always_inline)) {
#pragma GCC ivdep
        for (size_t i = 0; i < n; ++i) {
          out[i] = in[i] > 0.0F ? out[i] : 0.0F;
        }
      },
      d.size());
}

void sgd_elements(const SgdFactors& f, std::span<const float> p_in, std::span<const float> g, std::span<const float> b_in,
                  std::span<float> p_out, std::span<float> b_out) {
  const size_t count = p_in.size();
  XDC_CHECK(g.size() == count && p_out.size() == count);
  if (f.momentum == 0.0F) {
    run_vectorised(
        [ f, p = p_in.data(), gradient = g.data(), q = p_out.data() ](size_t n) __attribute__((always_inline)) {
#pragma GCC ivdep
          for (size_t i = 0; i < n; ++i) {
            q[i] = p[i] - f.learning_rate * (gradient[i] + f.weight_decay * p[i]);
          }
        },
        count);
    return;
  }
  XDC_CHECK(b_in.size() == count && b_out.size() == count);
  run_vectorised(
      [ f, p = p_in.data(), gradient = g.data(), b = b_in.data(), q = p_out.data(), c = b_out.data() ](size_t n)
          __attribute__((always_inline)) {
#pragma GCC ivdep
            for (size_t i = 0; i < n; ++i) {
              const float decayed = gradient[i] + f.weight_decay * p[i];
              const float buffer = f.momentum * b[i] + decayed;
              const float direction = f.nesterov ? decayed + f.momentum * buffer : buffer;
              q[i] = p[i] - f.learning_rate * direction;
              c[i] = buffer;
            }
          },
      count);
}

AdamFactors adam_factors(int64_t step, float learning_rate, float beta1, float beta2, float epsilon, float weight_decay, bool decoupled) {
  XDC_CHECK(step >= 1);
  AdamFactors f;
  const double correction1 = 1.0 - deterministic_pow(beta1, step);
  const double correction2 = 1.0 - deterministic_pow(beta2, step);
  f.corrected_rate = static_cast<float>(learning_rate / correction1);
  f.inverse_sqrt_correction = static_cast<float>(1.0 / std::sqrt(correction2));
  f.beta1 = beta1, f.one_minus_beta1 = 1.0F - beta1;
  f.beta2 = beta2, f.one_minus_beta2 = 1.0F - beta2;
  f.epsilon = epsilon;
  f.coupled_decay = decoupled ? 0.0F : weight_decay;
  f.kept = decoupled ? 1.0F - learning_rate * weight_decay : 1.0F;
  return f;
}

void adam_elements(const AdamFactors& f, std::span<const float> p_in, std::span<const float> g, std::span<const float> m_in,
                   std::span<const float> v_in, std::span<float> p_out, std::span<float> m_out, std::span<float> v_out) {
  const size_t count = p_in.size();
  XDC_CHECK(g.size() == count && m_in.size() == count && v_in.size() == count);
  XDC_CHECK(p_out.size() == count && m_out.size() == count && v_out.size() == count);
  run_vectorised(
      [ f, p = p_in.data(), gradient = g.data(), m = m_in.data(), v = v_in.data(), q = p_out.data(), mo = m_out.data(),
        vo = v_out.data() ](size_t n) __attribute__((always_inline)) {
#pragma GCC ivdep
        for (size_t i = 0; i < n; ++i) {
          const float decayed = gradient[i] + f.coupled_decay * p[i];
          const float first = f.beta1 * m[i] + f.one_minus_beta1 * decayed;
          const float second = f.beta2 * v[i] + f.one_minus_beta2 * (decayed * decayed);
          const float denominator = std::sqrt(second) * f.inverse_sqrt_correction + f.epsilon;
          q[i] = f.kept * p[i] - f.corrected_rate * first / denominator;
          mo[i] = first;
          vo[i] = second;
        }
      },
      count);
}

}  // namespace xdc
