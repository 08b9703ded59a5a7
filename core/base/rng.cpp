#include "core/base/rng.hpp"

#include <xxhash.h>

#include <cmath>

#include "core/base/check.hpp"
#include "core/base/philox.hpp"
#include "core/base/real_math.hpp"

namespace xdc {
namespace {

constexpr uint64_t kNoBlock = ~uint64_t{0};
constexpr double kTwoPi = 6.283185307179586;

std::array<uint32_t, 2> key_of(uint64_t seed) { return {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)}; }

uint32_t id_of(std::string_view name) { return XXH32(name.data(), name.size(), 0); }

std::array<uint32_t, 4> block_of(std::array<uint32_t, 2> key, uint32_t stream, uint32_t rank, uint64_t block) {
  return philox4x32({static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32), stream, rank}, key);
}

}  // namespace

std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < kPhiloxRounds; ++round) {
    philox_round(counter[0], counter[1], counter[2], counter[3], key[0], key[1]);
    key[0] += kPhiloxWeyl0;
    key[1] += kPhiloxWeyl1;
  }
  return counter;
}

RandomStream::RandomStream(uint64_t seed, std::string_view name, uint32_t rank)
    : key_(key_of(seed)), stream_(id_of(name)), rank_(rank), block_index_(kNoBlock) {}

uint32_t RandomStream::next_u32() {
  const uint64_t block = position_ / 4;
  if (block != block_index_) {
    block_ = block_of(key_, stream_, rank_, block);
    block_index_ = block;
  }
  return block_[position_++ % 4];
}

uint64_t RandomStream::next_u64() {
  const uint64_t low = next_u32();
  return low | (uint64_t{next_u32()} << 32);
}

uint64_t RandomStream::below(uint64_t bound) {
  XDC_CHECK(bound > 0);
  // Lemire 2019: the high half of a 128-bit product is uniform once the low half clears the remainder of 2^64 / bound.
  const uint64_t remainder = (0 - bound) % bound;
  for (;;) {
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(next_u64()) * bound;
    if (static_cast<uint64_t>(product) >= remainder) return static_cast<uint64_t>(product >> 64);
  }
}

float RandomStream::uniform_float() { return static_cast<float>(next_u32() >> 8) * 0x1p-24F; }

double RandomStream::uniform_double() { return static_cast<double>(next_u64() >> 11) * 0x1p-53; }

double RandomStream::normal() {
  const double radius = std::sqrt(-2.0 * deterministic_log(1.0 - uniform_double()));
  return radius * deterministic_cos(kTwoPi * uniform_double());
}

double RandomStream::gamma(double shape) {
  XDC_CHECK(shape > 0 && std::isfinite(shape));
  if (shape < 1) {
    // G(a) = G(a + 1) * U^(1/a), with U in (0, 1].
    const double log_u = deterministic_log(1.0 - uniform_double());
    return gamma(shape + 1) * deterministic_exp(log_u / shape);
  }
  const double d = shape - 1.0 / 3.0;
  const double c = 1.0 / std::sqrt(9.0 * d);
  for (;;) {
    const double x = normal();
    const double root = 1.0 + c * x;
    const double u = 1.0 - uniform_double();
    if (root <= 0) continue;
    const double v = root * root * root;
    if (deterministic_log(u) < 0.5 * x * x + d - d * v + d * deterministic_log(v)) return d * v;
  }
}

uint32_t random_word(uint64_t seed, std::string_view name, uint32_t rank, uint64_t index) {
  return block_of(key_of(seed), id_of(name), rank, index / 4)[index % 4];
}

}  // namespace xdc
