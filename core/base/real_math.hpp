// How are exp, log, sine and cosine taken where bits must not depend on the processor? By argument reduction and a series
// of plain additions and multiplications, in double, in the order written. (libm picks its code by processor: a fused
// multiply-add there changes the last bit.) sqrt is exact by IEEE 754; std::sqrt may be used anywhere.
//
// Each agrees with the exact value within 1e-14 relative (tests/unit/base/real_math.cpp).
#pragma once

#include <cstdint>

namespace xdc {

// exp(x). Overflow gives infinity, underflow 0, NaN gives NaN.
double deterministic_exp(double x);
// Natural logarithm. log(0) = -infinity; of a negative number or NaN: NaN.
double deterministic_log(double x);
// Radians; requires |x| <= 1e6.
double deterministic_sin(double x);
double deterministic_cos(double x);
// x^n by repeated squaring; requires n >= 0. x^0 = 1. The error grows by about n/2 units in the last place.
double deterministic_pow(double x, int64_t n);

}  // namespace xdc
