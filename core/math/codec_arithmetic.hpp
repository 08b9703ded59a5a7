// What does each codec do to one element, or to one block? Written once: a CPU loops over it (codec_blocks.cpp), a GPU calls it
// from its threads. No containers, no libm, no fused multiply-adds (-ffp-contract=off, --fmad=false): the same bits.
#pragma once

#include <cstdint>

#include "core/base/host_device.hpp"
#include "core/base/philox.hpp"
#include "core/seam/codec_spec.hpp"

namespace xdc {

inline constexpr uint32_t kMagnitudeMask = 0x7FFFFFFFU;
inline constexpr uint32_t kInfinityBits = 0x7F800000U;

XDC_HOST_DEVICE uint32_t bits_of(float x) {
  uint32_t bits;
  __builtin_memcpy(&bits, &x, sizeof bits);
  return bits;
}

XDC_HOST_DEVICE float float_of(uint32_t bits) {
  float x;
  __builtin_memcpy(&x, &bits, sizeof x);
  return x;
}

// Ordered as |x|; NaN lies above infinity.
XDC_HOST_DEVICE uint32_t magnitude_of(float x) { return bits_of(x) & kMagnitudeMask; }

XDC_HOST_DEVICE bool is_finite(float x) { return magnitude_of(x) < kInfinityBits; }

// The residual of one element: what was lost, or, where that is not finite (an overflow, NaN), what was there before.
XDC_HOST_DEVICE float residual_of(float p, float decoded, float before) {
  const float lost = p - decoded;
  return is_finite(lost) ? lost : before;
}

// A carry out of the mantissa is the next exponent, beyond the largest float infinity. A NaN stays one, quiet.
XDC_HOST_DEVICE uint16_t bf16_from_float(float x) {
  const uint32_t bits = bits_of(x);
  const uint32_t rounded = (bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16;
  return static_cast<uint16_t>((bits & kMagnitudeMask) > kInfinityBits ? (bits >> 16 | 0x40U) : rounded);
}

XDC_HOST_DEVICE float float_from_bf16(uint16_t x) { return float_of(uint32_t{x} << 16); }

// The scale of a block from the magnitude of its largest element: NaN where that is not finite, 0 where the block is as good as
// zero. 127 * scale is finite: the last float before that would overflow.
XDC_HOST_DEVICE float int8_scale(uint32_t largest) {
  if (largest >= kInfinityBits) {
    return float_of(kInfinityBits | 0x00400000U);
  }
  const float scale = float_of(largest) / 127.0F;
  return is_finite(127.0F * scale) ? scale : float_of(bits_of(scale) - 1);
}

// x / scale within [-127, 127]: a scale that was rounded down would lead beyond. Requires scale > 0.
XDC_HOST_DEVICE float int8_scaled(float x, float scale) {
  const float v = x / scale;
  const float below = v < 127.0F ? v : 127.0F;
  return below > -127.0F ? below : -127.0F;
}

// Adding 1.5 * 2^23 leaves the integer, rounded to nearest even, in the low bits.
XDC_HOST_DEVICE int8_t int8_nearest(float x, float scale) {
  return static_cast<int8_t>(static_cast<int32_t>(bits_of(int8_scaled(x, scale) + 0x1.8p23F)));
}

// Up with the probability of the fraction, to 24 bits; what is whole stays as it is.
XDC_HOST_DEVICE int8_t int8_stochastic(float x, float scale, uint32_t word) {
  const float v = int8_scaled(x, scale);
  const auto towards_zero = static_cast<int32_t>(v);
  const int32_t floor = towards_zero - (v < static_cast<float>(towards_zero) ? 1 : 0);
  const float fraction = v - static_cast<float>(floor);
  const float drawn = static_cast<float>(static_cast<int32_t>(word >> 8)) * 0x1p-24F;
  return static_cast<int8_t>(floor + (drawn < fraction ? 1 : 0));
}

XDC_HOST_DEVICE float int8_value(int8_t q, float scale) { return static_cast<float>(q) * scale; }

// Philox's counter, and the four words it becomes (RoundingKey): those of elements 64 apart in one block.
struct RoundingWords {
  uint32_t c0, c1, c2, c3;
};
inline constexpr int kRoundingStride = kCodecBlock / 4;

// `index`: of the block of 256 elements times 64, plus the element's place in it modulo 64.
XDC_HOST_DEVICE RoundingWords rounding_counter(const RoundingKey& key, uint32_t index) {
  const uint32_t flags = (key.tier == Tier::wan ? 0x40000000U : 0U) | (key.finished ? 0x80000000U : 0U);
  return {index, static_cast<uint32_t>(key.step), key.finished ? 0U : key.sender, flags | (key.finished ? 0U : key.hop)};
}

// The words of the block that begins at `first_element`, one an element.
XDC_HOST_DEVICE void rounding_words_of_block(const RoundingKey& key, int64_t first_element, uint32_t* words) {
  const RoundingWords start = rounding_counter(key, static_cast<uint32_t>(first_element / 4));
  for (int i = 0; i < kRoundingStride; ++i) {
    words[i] = start.c0 + static_cast<uint32_t>(i);
    words[i + kRoundingStride] = start.c1;
    words[i + 2 * kRoundingStride] = start.c2;
    words[i + 3 * kRoundingStride] = start.c3;
  }
  auto key0 = static_cast<uint32_t>(key.seed), key1 = static_cast<uint32_t>(key.seed >> 32);
  for (int round = 0; round < kPhiloxRounds; ++round) {
    // The outer loop over rounds, so that vector units take several counters at a time.
    for (int i = 0; i < kRoundingStride; ++i) {
      philox_round(words[i], words[i + kRoundingStride], words[i + 2 * kRoundingStride], words[i + 3 * kRoundingStride], key0, key1);
    }
    key0 += kPhiloxWeyl0;
    key1 += kPhiloxWeyl1;
  }
}

// Encodes the first n <= 256 of p, returns the scale. `words`: null rounds to nearest.
XDC_HOST_DEVICE float int8_encode_block(const float* p, int n, const uint32_t* words, int8_t* q) {
  uint32_t largest = 0;
  for (int i = 0; i < n; ++i) {
    const uint32_t magnitude = magnitude_of(p[i]);
    largest = magnitude > largest ? magnitude : largest;
  }
  const float scale = int8_scale(largest);
  if (!(scale > 0.0F)) {
    for (int i = 0; i < n; ++i) {
      q[i] = 0;
    }
  } else if (words == nullptr) {
    for (int i = 0; i < n; ++i) {
      q[i] = int8_nearest(p[i], scale);
    }
  } else {
    for (int i = 0; i < n; ++i) {
      q[i] = int8_stochastic(p[i], scale, words[i]);
    }
  }
  return scale;
}

XDC_HOST_DEVICE void int8_decode_block(float scale, const int8_t* q, int n, float* out) {
  for (int i = 0; i < n; ++i) {
    out[i] = int8_value(q[i], scale);
  }
}

// Top-k finds the magnitude of its k-th largest element digit by digit, from the highest: 11, 10 and 10 bits.
inline constexpr int kTopKPasses = 3;
inline constexpr int kTopKBins = 2048;
XDC_HOST_DEVICE int top_k_shift(int pass) { return pass == 0 ? 20 : pass == 1 ? 10 : 0; }
XDC_HOST_DEVICE uint32_t top_k_digit(uint32_t magnitude, int pass) {
  return magnitude >> top_k_shift(pass) & (pass == 0 ? 0x7FFU : 0x3FFU);
}
// Whether the higher digits are those of `prefix`.
XDC_HOST_DEVICE bool top_k_matches(uint32_t magnitude, uint32_t prefix, int pass) {
  return pass == 0 || magnitude >> top_k_shift(pass - 1) == prefix >> top_k_shift(pass - 1);
}

}  // namespace xdc
