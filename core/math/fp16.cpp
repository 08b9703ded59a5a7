// binary16 in integer arithmetic, and with F16C where the processor has it.
#include "core/math/fp16.hpp"

#include <immintrin.h>

#include <bit>

#include "core/base/check.hpp"

namespace xdc {
namespace {

constexpr uint32_t kFloatInfinity = 0x7F800000U;
constexpr uint32_t kHalfInfinity = 0x7C00U;
constexpr uint32_t kHalfQuiet = 0x0200U;
constexpr uint32_t kLeastNormal = 0x38800000U;       // 2^-14
constexpr uint32_t kRoundsToInfinity = 0x477FF000U;  // 65,520: half way between the largest half and the next power

bool has_f16c() {
  static const bool has = __builtin_cpu_supports("f16c") != 0 && __builtin_cpu_supports("avx") != 0;
  return has;
}

// value / 2^shift, ties to even.
uint32_t shift_right_even(uint32_t value, uint32_t shift) {
  const uint32_t half = 1U << (shift - 1);
  const uint32_t rest = value & ((1U << shift) - 1U);
  const uint32_t whole = value >> shift;
  return whole + ((rest > half || (rest == half && (whole & 1U) != 0U)) ? 1U : 0U);
}

constexpr size_t kLanes = 8;

[[gnu::target("avx,f16c")]] size_t halves_f16c(std::span<const float> in, std::span<uint16_t> out) {
  size_t i = 0;
  for (; i + kLanes <= in.size(); i += kLanes) {
    const __m128i h = _mm256_cvtps_ph(_mm256_loadu_ps(&in[i]), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(&out[i]), h);
  }
  return i;
}

[[gnu::target("avx,f16c")]] size_t floats_f16c(std::span<const uint16_t> in, std::span<float> out) {
  size_t i = 0;
  for (; i + kLanes <= in.size(); i += kLanes) {
    _mm256_storeu_ps(&out[i], _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(&in[i]))));
  }
  return i;
}

}  // namespace

uint16_t half_from_float(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  const uint32_t sign = (bits >> 16) & 0x8000U;
  const uint32_t magnitude = bits & 0x7FFFFFFFU;
  uint32_t half = 0;
  if (magnitude > kFloatInfinity) {
    half = kHalfInfinity | kHalfQuiet | ((magnitude >> 13) & 0x03FFU);
  } else if (magnitude >= kRoundsToInfinity) {
    half = kHalfInfinity;
  } else if (magnitude >= kLeastNormal) {
    // A carry out of the mantissa is the next exponent, as it should be.
    half = shift_right_even(magnitude - ((127U - 15U) << 23), 13);
  } else if (magnitude > 0x33000000U) {
    // A denormal half counts 2^-24; 2^-25 and less are 0 (the tie goes to even).
    const uint32_t exponent = magnitude >> 23;
    half = shift_right_even((magnitude & 0x007FFFFFU) | 0x00800000U, 126U - exponent);
  }
  return static_cast<uint16_t>(sign | half);
}

float float_from_half(uint16_t h) {
  const uint32_t sign = (h & 0x8000U) << 16;
  const uint32_t exponent = (h >> 10) & 0x1FU;
  const uint32_t mantissa = h & 0x03FFU;
  uint32_t bits = 0;
  if (exponent == 0x1FU) {
    bits = kFloatInfinity | (mantissa << 13) | (mantissa != 0 ? 0x00400000U : 0U);
  } else if (exponent != 0) {
    bits = ((exponent + 127U - 15U) << 23) | (mantissa << 13);
  } else if (mantissa != 0) {
    const auto zeros = static_cast<uint32_t>(std::countl_zero(mantissa)) - 21U;  // up to the implicit bit
    bits = ((113U - zeros) << 23) | ((mantissa << (13U + zeros)) & 0x007FFFFFU);
  }
  return std::bit_cast<float>(sign | bits);
}

void halves_from_floats_portable(std::span<const float> in, std::span<uint16_t> out) {
  XDC_CHECK(in.size() == out.size());
  for (size_t i = 0; i < in.size(); ++i) {
    out[i] = half_from_float(in[i]);
  }
}

void floats_from_halves_portable(std::span<const uint16_t> in, std::span<float> out) {
  XDC_CHECK(in.size() == out.size());
  for (size_t i = 0; i < in.size(); ++i) {
    out[i] = float_from_half(in[i]);
  }
}

void halves_from_floats(std::span<const float> in, std::span<uint16_t> out) {
  XDC_CHECK(in.size() == out.size());
  const size_t done = has_f16c() ? halves_f16c(in, out) : 0;
  halves_from_floats_portable(in.subspan(done), out.subspan(done));
}

void floats_from_halves(std::span<const uint16_t> in, std::span<float> out) {
  XDC_CHECK(in.size() == out.size());
  const size_t done = has_f16c() ? floats_f16c(in, out) : 0;
  floats_from_halves_portable(in.subspan(done), out.subspan(done));
}

}  // namespace xdc
