// Philox4x32-10 (Salmon et al., SC'11) itself, for the CPU and for a GPU. core/base/rng is what one draws with.
#pragma once

#include <cstdint>

#include "core/base/host_device.hpp"

namespace xdc {

inline constexpr uint32_t kPhiloxMultiplier0 = 0xD2511F53U, kPhiloxMultiplier1 = 0xCD9E8D57U;
inline constexpr uint32_t kPhiloxWeyl0 = 0x9E3779B9U, kPhiloxWeyl1 = 0xBB67AE85U;  // golden ratio, sqrt(3) - 1
inline constexpr int kPhiloxRounds = 10;

// One of the rounds, over the four words of the counter; between two rounds kPhiloxWeyl0 and 1 are added to the keys.
XDC_HOST_DEVICE void philox_round(uint32_t& c0, uint32_t& c1, uint32_t& c2, uint32_t& c3, uint32_t key0, uint32_t key1) {
  const uint64_t a = uint64_t{kPhiloxMultiplier0} * c0;
  const uint64_t b = uint64_t{kPhiloxMultiplier1} * c2;
  c0 = static_cast<uint32_t>(b >> 32) ^ c1 ^ key0;
  c1 = static_cast<uint32_t>(b);
  c2 = static_cast<uint32_t>(a >> 32) ^ c3 ^ key1;
  c3 = static_cast<uint32_t>(a);
}

}  // namespace xdc
