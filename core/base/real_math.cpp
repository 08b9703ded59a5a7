#include "core/base/real_math.hpp"

#include <bit>
#include <cmath>
#include <limits>

#include "core/base/check.hpp"

namespace xdc {
namespace {

// ln 2 and pi/2 in parts: the first ones have so few bits that their product with the reduction's integer is exact.
constexpr double kLn2High = 0x1.62e42fee00000p-1;
constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
constexpr double kHalfPiHigh = 0x1.921fb54400000p+0;
constexpr double kHalfPiMiddle = 0x1.0b4611a600000p-34;
constexpr double kHalfPiLow = 0x1.3198a2e037073p-69;
constexpr double kInverseLn2 = 0x1.71547652b82fep+0;
constexpr double kInverseHalfPi = 0x1.45f306dc9c883p-1;
constexpr double kSqrtHalf = 0x1.6a09e667f3bcdp-1;

double power_of_two(int exponent) { return std::bit_cast<double>(static_cast<uint64_t>(exponent + 1023) << 52); }

double nearest_integer(double x) { return std::floor(x + 0.5); }

// |r| <= pi/4. Taylor in r^2; the first term left out is below 1e-18.
double sin_series(double r) {
  const double s = r * r;
  double sum = 0;
  for (int n = 19; n >= 3; n -= 2) {
    sum = (1.0 + sum) * (-s / (n * (n - 1)));
  }
  return r + r * sum;
}

double cos_series(double r) {
  const double s = r * r;
  double sum = 0;
  for (int n = 20; n >= 2; n -= 2) {
    sum = (1.0 + sum) * (-s / (n * (n - 1)));
  }
  return 1.0 + sum;
}

// x = quadrant * pi/2 + r.
struct Reduced {
  int quadrant;
  double r;
};

Reduced reduce(double x) {
  XDC_CHECK_MSG(std::fabs(x) <= 1e6, "sine and cosine are exact enough up to a million radians only");
  const double k = nearest_integer(x * kInverseHalfPi);
  const double r = ((x - k * kHalfPiHigh) - k * kHalfPiMiddle) - k * kHalfPiLow;
  return {static_cast<int>(static_cast<int64_t>(k) & 3), r};
}

}  // namespace

double deterministic_exp(double x) {
  if (std::isnan(x)) return x;
  if (x > 709.782712893384) return std::numeric_limits<double>::infinity();
  if (x < -745.2) return 0;
  const double k = nearest_integer(x * kInverseLn2);
  const double r = (x - k * kLn2High) - k * kLn2Low;  // |r| <= ln 2 / 2
  double sum = 0;
  for (int n = 14; n >= 1; --n) {
    sum = (1.0 + sum) * (r / n);
  }
  // In two factors: k reaches 1024, and -1074 for results below the normal range.
  const int exponent = static_cast<int>(k);
  const int half = exponent / 2;
  return (1.0 + sum) * power_of_two(half) * power_of_two(exponent - half);
}

double deterministic_log(double x) {
  if (std::isnan(x) || x < 0) return std::numeric_limits<double>::quiet_NaN();
  if (x == 0) return -std::numeric_limits<double>::infinity();
  if (std::isinf(x)) return x;
  int exponent = 0;
  double m = std::frexp(x, &exponent);  // exact: [0.5, 1)
  if (m < kSqrtHalf) {
    m *= 2;
    --exponent;
  }
  // log m = 2 artanh(s), s = (m - 1) / (m + 1), |s| < 0.1716.
  const double s = (m - 1.0) / (m + 1.0);
  const double s2 = s * s;
  double sum = 0;
  for (int n = 25; n >= 3; n -= 2) {
    sum = sum * s2 + 1.0 / n;
  }
  const double k = exponent;
  return k * kLn2High + (2.0 * s + (2.0 * s * s2 * sum + k * kLn2Low));
}

double deterministic_sin(double x) {
  const auto [quadrant, r] = reduce(x);
  const double value = (quadrant & 1) != 0 ? cos_series(r) : sin_series(r);
  return (quadrant & 2) != 0 ? -value : value;
}

double deterministic_cos(double x) {
  const auto [quadrant, r] = reduce(x);
  const double value = (quadrant & 1) != 0 ? sin_series(r) : cos_series(r);
  return quadrant == 1 || quadrant == 2 ? -value : value;
}

double deterministic_pow(double x, int64_t n) {
  XDC_CHECK(n >= 0);
  double result = 1;
  for (double square = x; n > 0; n >>= 1) {
    if ((n & 1) != 0) result *= square;
    square *= square;
  }
  return result;
}

}  // namespace xdc
