#include "tests/kernels/codec_reference.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/base/rng.hpp"
#include "core/math/fp16.hpp"

namespace xdc {
namespace {

using Vector = std::vector<float>;

constexpr size_t kReferenceBlock = 256;

// Of the two neighbours with 16 bits the nearer one, in double precision; a tie goes to the even one.
float through_bf16(float x) {
  if (std::isnan(x) || std::isinf(x)) {
    return x;
  }
  const uint32_t low_bits = std::bit_cast<uint32_t>(x) & 0xFFFF0000U, high_bits = low_bits + 0x10000U;
  const double low = std::bit_cast<float>(low_bits), high = std::bit_cast<float>(high_bits);
  const double next = std::isinf(high) ? std::copysign(0x1p128, low) : high;
  const double to_low = std::fabs(double{x} - low), to_high = std::fabs(next - double{x});
  const bool up = to_high < to_low || (to_high == to_low && (low_bits & 0x10000U) != 0);
  return std::bit_cast<float>(up ? high_bits : low_bits);
}

double drawn(const RoundingKey& key, int64_t element) {
  const int64_t block = element / 256, place = element % 256;
  const uint32_t flags = (key.tier == Tier::wan ? 1U << 30 : 0U) + (key.finished ? 1U << 31 : 0U);
  const auto words = philox4x32({static_cast<uint32_t>(block * 64 + place % 64), static_cast<uint32_t>(key.step),
                                 key.finished ? 0 : key.sender, (key.finished ? 0 : key.hop) + flags},
                                {static_cast<uint32_t>(key.seed), static_cast<uint32_t>(key.seed >> 32)});
  return static_cast<double>(words[static_cast<size_t>(place / 64)] >> 8) / 16777216.0;
}

void through_int8(const CodecSpec& codec, const Vector& p, const RoundingKey& key, int64_t first_element, size_t begin, Vector& out) {
  const size_t end = std::min(p.size(), begin + kReferenceBlock);
  float largest = 0;
  bool finite = true;
  for (size_t i = begin; i < end; ++i) {
    largest = std::max(largest, std::fabs(p[i]));
    finite = finite && std::isfinite(p[i]);
  }
  float scale = largest / 127.0F;
  if (std::isinf(scale * 127.0F)) {
    scale = std::nextafter(scale, 0.0F);
  }
  for (size_t i = begin; i < end; ++i) {
    if (!finite || scale == 0) {
      out[i] = finite ? 0.0F : std::numeric_limits<float>::quiet_NaN();
      continue;
    }
    const double v = std::clamp(p[i] / scale, -127.0F, 127.0F);
    double q = std::nearbyint(v);
    if (codec.rounding == Rounding::stochastic) {
      q = std::floor(v) + (drawn(key, first_element + static_cast<int64_t>(i)) < v - std::floor(v) ? 1 : 0);
    }
    out[i] = static_cast<float>(static_cast<int>(q)) * scale;  // zero has no sign
  }
}

Vector through_top_k(double density, const Vector& p) {
  std::vector<size_t> order(p.size());
  std::iota(order.begin(), order.end(), size_t{0});
  // NaN above infinity, by its payload.
  const auto size = [&](size_t i) {
    const double payload = std::bit_cast<uint32_t>(p[i]) & 0x007FFFFFU;
    return std::isnan(p[i]) ? 0x1p129 * (1 + payload) : std::isinf(p[i]) ? 0x1p128 : std::fabs(double{p[i]});
  };
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return size(a) > size(b); });
  Vector out(p.size(), 0.0F);
  for (size_t i = 0; i < static_cast<size_t>(reference_top_k_count(density, static_cast<int64_t>(p.size()))); ++i) {
    out[order[i]] = p[order[i]];
  }
  return out;
}

}  // namespace

int64_t reference_top_k_count(double density, int64_t n) {
  const double exact = density * static_cast<double>(n);
  const double whole = std::round(exact);
  const double k = std::fabs(exact - whole) < 1e-9 ? whole : std::ceil(exact);
  return n == 0 ? 0 : std::clamp<int64_t>(static_cast<int64_t>(k), 1, n);
}

Vector reference_round_trip(const CodecSpec& codec, const Vector& p, const RoundingKey& key, int64_t first_element) {
  Vector out = p;
  switch (codec.kind) {
    case CodecKind::none:
      break;
    case CodecKind::fp16:
      std::transform(p.begin(), p.end(), out.begin(), [](float x) { return float_from_half(half_from_float(x)); });
      break;
    case CodecKind::bf16:
      std::transform(p.begin(), p.end(), out.begin(), through_bf16);
      break;
    case CodecKind::int8:
      for (size_t begin = 0; begin < p.size(); begin += kReferenceBlock) {
        through_int8(codec, p, key, first_element, begin, out);
      }
      break;
    case CodecKind::top_k:
      return through_top_k(codec.density, p);
  }
  return out;
}

Vector reference_feedback(const CodecSpec& codec, const Vector& p, const RoundingKey& key, int64_t first_element, Vector& residual) {
  Vector corrected = p;
  for (size_t i = 0; i < p.size(); ++i) {
    corrected[i] += residual[i];
  }
  const Vector decoded = reference_round_trip(codec, corrected, key, first_element);
  for (size_t i = 0; i < p.size(); ++i) {
    const float lost = corrected[i] - decoded[i];
    residual[i] = std::isfinite(lost) ? lost : residual[i];
  }
  return decoded;
}

}  // namespace xdc
