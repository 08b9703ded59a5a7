// Each codec is a type that encodes and decodes one block at its place in the wire; the loop over blocks, with error feedback or
// without, is written once, and compiled twice (core/math/vectorised.hpp).
#include "core/math/codec_blocks.hpp"

#include <algorithm>
#include <vector>

#include "core/base/check.hpp"
#include "core/math/codec_arithmetic.hpp"
#include "core/math/fp16.hpp"
#include "core/math/vectorised.hpp"

namespace xdc {
namespace {

#define XDC_INLINE [[gnu::always_inline]] inline

template <class T>
T* at(std::byte* wire) {
  return reinterpret_cast<T*>(wire);
}
template <class T>
const T* at(const std::byte* wire) {
  return reinterpret_cast<const T*>(wire);
}

struct Bf16 {
  uint16_t* wire;

  XDC_INLINE void encode(int64_t block, const float* p, int n) const {
    uint16_t* out = wire + block * kCodecBlock;
    for (int i = 0; i < n; ++i) {
      out[i] = bf16_from_float(p[i]);
    }
  }
  XDC_INLINE void decode(int64_t block, float* p, int n) const {
    const uint16_t* in = wire + block * kCodecBlock;
    for (int i = 0; i < n; ++i) {
      p[i] = float_from_bf16(in[i]);
    }
  }
};

struct Int8 {
  float* scales;
  int8_t* values;
  bool stochastic = false;
  RoundingKey key{};
  int64_t first_element = 0;

  static Int8 on(std::byte* wire, size_t n) {
    const size_t blocks = (n + kCodecBlock - 1) / kCodecBlock;
    return {at<float>(wire), at<int8_t>(wire + blocks * sizeof(float))};
  }
  XDC_INLINE void encode(int64_t block, const float* p, int n) const {
    uint32_t words[kCodecBlock];
    if (stochastic) {
      rounding_words_of_block(key, first_element + block * kCodecBlock, words);
    }
    scales[block] = int8_encode_block(p, n, stochastic ? words : nullptr, values + block * kCodecBlock);
  }
  XDC_INLINE void decode(int64_t block, float* p, int n) const { int8_decode_block(scales[block], values + block * kCodecBlock, n, p); }
};

// The last block may be short; the others have a length that the compiler knows.
template <class Body>
XDC_INLINE void for_blocks(size_t n, const Body& body) {
  const auto whole = static_cast<int64_t>(n / kCodecBlock);
  for (int64_t block = 0; block < whole; ++block) {
    body(block, static_cast<int>(kCodecBlock));
  }
  if (const auto rest = static_cast<int>(n % kCodecBlock); rest > 0) {
    body(whole, rest);
  }
}

template <class Codec>
XDC_INLINE void encode_block(const Codec& codec, int64_t block, const float* x, const float* before, float* after, int n) {
  const int64_t first = block * kCodecBlock;
  if (before == nullptr) {
    codec.encode(block, x + first, n);
    return;
  }
  float p[kCodecBlock], decoded[kCodecBlock];
  for (int i = 0; i < n; ++i) {
    p[i] = x[first + i] + before[first + i];
  }
  codec.encode(block, p, n);
  codec.decode(block, decoded, n);
#pragma GCC ivdep
  for (int i = 0; i < n; ++i) {
    after[first + i] = residual_of(p[i], decoded[i], before[first + i]);
  }
}

template <class Codec>
void encode_blocks(const Codec& codec, std::span<const float> x, Feedback feedback) {
  XDC_CHECK(feedback.before.size() == feedback.after.size() && (feedback.before.empty() || feedback.before.size() == x.size()));
  run_vectorised(
      [ codec, in = x.data(), before = feedback.before.data(), after = feedback.after.data() ](size_t n) __attribute__((always_inline)) {
        for_blocks(
            n, [&](int64_t block, int count) __attribute__((always_inline)) { encode_block(codec, block, in, before, after, count); });
      },
      x.size());
}

template <class Codec>
void decode_blocks(const Codec& codec, std::span<float> x) {
  run_vectorised(
      [ codec, out = x.data() ](size_t n) __attribute__((always_inline)) {
        for_blocks(
            n, [&](int64_t block, int count) __attribute__((always_inline)) { codec.decode(block, out + block * kCodecBlock, count); });
      },
      x.size());
}

// The k-th largest magnitude, and how many elements of just this magnitude are among the k.
struct Threshold {
  uint32_t magnitude = 0;
  int64_t ties = 0;
};

// Two tables in turn: neighbours of one magnitude do not wait for each other's counts.
void count_highest_digits(std::span<const float> p, int64_t* histogram) {
  uint32_t counts[2][kTopKBins] = {};
  for (size_t i = 0; i < p.size(); ++i) {
    ++counts[i % 2][top_k_digit(magnitude_of(p[i]), 0)];
  }
  for (int digit = 0; digit < kTopKBins; ++digit) {
    histogram[digit] = int64_t{counts[0][digit]} + counts[1][digit];
  }
}

// After the highest digit only those that share it matter: a few, unless all are alike.
Threshold find_threshold(std::span<const float> p, int64_t k) {
  Threshold threshold{0, k};
  std::vector<uint32_t> left;
  for (int pass = 0; pass < kTopKPasses; ++pass) {
    int64_t histogram[kTopKBins] = {};
    if (pass == 0) {
      count_highest_digits(p, histogram);
    }
    for (const uint32_t magnitude : left) {
      histogram[top_k_digit(magnitude, pass)] += top_k_matches(magnitude, threshold.magnitude, pass) ? 1 : 0;
    }
    uint32_t digit = kTopKBins - 1;
    for (; histogram[digit] < threshold.ties; --digit) {
      threshold.ties -= histogram[digit];
    }
    threshold.magnitude |= digit << top_k_shift(pass);
    if (pass == 0) {
      left.resize(static_cast<size_t>(histogram[digit]) + 1);
      size_t n = 0;
      for (const float value : p) {
        left[n] = magnitude_of(value);
        n += top_k_matches(left[n], threshold.magnitude, 1) ? 1 : 0;
      }
      left.pop_back();
    }
  }
  return threshold;
}

// What of a block is among the k, in order. Written without branches, which nobody could predict.
size_t take_block(Threshold& threshold, const float* p, size_t n, uint32_t first, float* values, uint32_t* places) {
  size_t taken = 0;
  for (size_t i = 0; i < n; ++i) {
    const uint32_t magnitude = magnitude_of(p[i]);
    const bool tie = magnitude == threshold.magnitude && threshold.ties > 0;
    threshold.ties -= tie ? 1 : 0;
    values[taken] = p[i];
    places[taken] = first + static_cast<uint32_t>(i);
    taken += static_cast<size_t>(static_cast<int>(magnitude > threshold.magnitude) | static_cast<int>(tie));
  }
  return taken;
}

// p and after may be the same.
void keep_residuals(const float* p, const float* decoded, const float* before, float* after, size_t n) {
  run_vectorised(
      [=](size_t count) __attribute__((always_inline)) {
#pragma GCC ivdep
        for (size_t i = 0; i < count; ++i) {
          after[i] = residual_of(p[i], decoded[i], before[i]);
        }
      },
      n);
}

}  // namespace

void encode_fp16(std::span<const float> x, Feedback feedback, std::byte* wire) {
  const std::span<uint16_t> out(at<uint16_t>(wire), x.size());
  if (feedback.before.empty()) {
    halves_from_floats(x, out);
    return;
  }
  float p[kCodecBlock], decoded[kCodecBlock];
  for (size_t first = 0; first < x.size(); first += kCodecBlock) {
    const size_t n = std::min<size_t>(kCodecBlock, x.size() - first);
    for (size_t i = 0; i < n; ++i) {
      p[i] = x[first + i] + feedback.before[first + i];
    }
    halves_from_floats({p, n}, out.subspan(first, n));
    floats_from_halves(out.subspan(first, n), {decoded, n});
    keep_residuals(p, decoded, feedback.before.data() + first, feedback.after.data() + first, n);
  }
}

void encode_bf16(std::span<const float> x, Feedback feedback, std::byte* wire) { encode_blocks(Bf16{at<uint16_t>(wire)}, x, feedback); }

void encode_int8(std::span<const float> x, Feedback feedback, Rounding rounding, const RoundingKey& key, int64_t first_element,
                 std::byte* wire) {
  Int8 codec = Int8::on(wire, x.size());
  codec.stochastic = rounding == Rounding::stochastic;
  codec.key = key;
  codec.first_element = first_element;
  encode_blocks(codec, x, feedback);
}

void encode_top_k(std::span<const float> x, Feedback feedback, int64_t k, std::byte* wire) {
  const bool fed_back = !feedback.before.empty();
  std::span<const float> p = x;
  if (fed_back) {
    std::copy(x.begin(), x.end(), feedback.after.begin());
    for (size_t i = 0; i < x.size(); ++i) {
      feedback.after[i] += feedback.before[i];
    }
    p = feedback.after;
  }
  if (x.empty()) {
    return;
  }
  Threshold threshold = find_threshold(p, k);
  float* values = at<float>(wire);
  uint32_t* places = at<uint32_t>(wire + static_cast<size_t>(k) * sizeof(float));
  int64_t taken = 0;
  float block_values[kCodecBlock];
  uint32_t block_places[kCodecBlock];
  for (size_t first = 0; first < p.size(); first += kCodecBlock) {
    const size_t n = std::min<size_t>(kCodecBlock, p.size() - first);
    const size_t found = take_block(threshold, p.data() + first, n, static_cast<uint32_t>(first), block_values, block_places);
    XDC_CHECK(taken + static_cast<int64_t>(found) <= k);
    std::copy_n(block_values, found, values + taken);
    std::copy_n(block_places, found, places + taken);
    taken += static_cast<int64_t>(found);
    if (fed_back) {
      float decoded[kCodecBlock] = {};
      for (size_t i = 0; i < found; ++i) {
        decoded[block_places[i] - first] = block_values[i];
      }
      keep_residuals(p.data() + first, decoded, feedback.before.data() + first, feedback.after.data() + first, n);
    }
  }
  XDC_CHECK(taken == k);
}

void decode_fp16(const std::byte* wire, std::span<float> x) { floats_from_halves({at<uint16_t>(wire), x.size()}, x); }

// A codec decodes through the same pointers that it encodes through, and writes nothing.
void decode_bf16(const std::byte* wire, std::span<float> x) { decode_blocks(Bf16{at<uint16_t>(const_cast<std::byte*>(wire))}, x); }

void decode_int8(const std::byte* wire, std::span<float> x) { decode_blocks(Int8::on(const_cast<std::byte*>(wire), x.size()), x); }

Status decode_top_k(const std::byte* wire, int64_t k, std::span<float> x) {
  const float* values = at<float>(wire);
  const uint32_t* places = at<uint32_t>(wire + static_cast<size_t>(k) * sizeof(float));
  std::fill(x.begin(), x.end(), 0.0F);
  int64_t least = 0;
  for (int64_t i = 0; i < k; ++i) {
    const int64_t place = places[i];
    if (place < least || place >= static_cast<int64_t>(x.size())) {
      return Error{ErrorCode::failed,
                   "a top-k message names elements that do not exist or are out of order: its bytes are damaged, or the "
                   "two sides do not run the same build"};
    }
    x[static_cast<size_t>(place)] = values[i];
    least = place + 1;
  }
  return ok_status();
}

}  // namespace xdc
