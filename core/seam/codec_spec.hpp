// Which encodings of a tensor are there, and what must everyone know of them? Kernels::encode and Kernels::decode do the
// arithmetic; core/codec reads the choice and knows the bytes.
//
// The wire of n elements x, in the byte order of the machines (little endian):
//   none   n f32
//   fp16   n IEEE binary16, round to nearest even; beyond 65,504 + 16 infinity
//   bf16   n high halves of f32, round to nearest even
//   int8   ceil(n/256) f32 scales, one for each block of 256 (the last may be short), then n int8: x = scale * q.
//          scale = max|x| / 127; q in [-127, 127]. A block with something that is not finite decodes to NaN altogether; one
//          whose scale is 0 (values below 2^-143) to zeros.
//   top_k  k f32 values, then their k u32 places, ascending, counted from the first element encoded; every other element is 0.
//          The k of largest magnitude, a tie goes to the lower place. NaN lies above infinity, by its payload: it is sent first.
#pragma once

#include <cmath>
#include <cstdint>

namespace xdc {

enum class CodecKind : uint8_t { none, fp16, bf16, int8, top_k };

// int8. nearest: ties to even. stochastic: up with the probability of the fraction, so that the expectation is exact.
enum class Rounding : uint8_t { nearest, stochastic };

struct CodecSpec {
  CodecKind kind = CodecKind::none;
  Rounding rounding = Rounding::nearest;  // int8
  double density = 0;                     // top_k: 0 < density <= 1
  // What an encoding loses is added to what is encoded next (Seide et al. 2014; Karimireddy et al. 2019, 1901.09847).
  bool error_feedback = false;
  friend bool operator==(const CodecSpec&, const CodecSpec&) = default;
};

// Where a codec sits: inside a datacenter, or between datacenters.
enum class Tier : uint8_t { lan, wan };

// int8 blocks stand at global multiples of this: a tensor that is encoded begins at one.
inline constexpr int64_t kCodecBlock = 256;

// k = max(1, ceil(density * n)), 0 for n = 0. A product that is whole but for the rounding of the decimal fraction is whole:
// 0.07 of 100 are 7.
inline int64_t top_k_count(double density, int64_t n) {
  const auto k = static_cast<int64_t>(std::ceil(density * static_cast<double>(n) * (1 - 0x1p-40)));
  return n == 0 ? 0 : k < 1 ? 1 : k > n ? n : k;
}

// Which draw does stochastic rounding take? Element i of the flat buffer, at place e = i mod 256 of block b = i / 256: word e / 64
// of Philox4x32-10 under the seed, with the counter (64 b + e mod 64, step, sender, hop and the flags). So retries, lanes and
// worlds draw alike. A finished sum has neither sender nor hop: whoever encodes it gets the same bytes.
struct RoundingKey {
  uint64_t seed = 0;
  int64_t step = 0;  // modulo 2^32
  uint32_t sender = 0;
  uint32_t hop = 0;  // < 2^30
  Tier tier = Tier::lan;
  bool finished = false;
};

}  // namespace xdc
