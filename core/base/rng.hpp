// Where does chance come from? Philox4x32-10 (Salmon et al., SC'11, "Parallel random numbers: as easy as 1, 2, 3"):
// a draw is a pure function of (seed, stream name, rank, counter), so adding a draw moves no other, in any world.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

namespace xdc {

// One block: four words from a 128-bit counter and a 64-bit key.
std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

// A named stream of draws. Copyable: its whole state is its position.
class RandomStream {
 public:
  RandomStream(uint64_t seed, std::string_view name, uint32_t rank = 0);

  uint32_t next_u32();
  uint64_t next_u64();
  // Uniform in [0, bound), without bias (Lemire's rejection). Requires bound > 0.
  uint64_t below(uint64_t bound);
  // Uniform in [0, 1), 24 bits / 53 bits.
  float uniform_float();
  double uniform_double();
  // Standard normal, by the cosine half of Box-Muller over our own log and cosine: the same bits on every processor, and
  // always four words.
  double normal();
  // Gamma(shape, 1) by Marsaglia and Tsang (2000); requires shape > 0. Dirichlet draws are normalised gammas.
  double gamma(double shape);
  // Fisher-Yates.
  template <class T>
  void shuffle(std::span<T> items) {
    for (size_t i = items.size(); i > 1; --i) {
      std::swap(items[i - 1], items[below(i)]);
    }
  }

  uint64_t position() const { return position_; }
  void seek(uint64_t position) { position_ = position; }

 private:
  std::array<uint32_t, 2> key_;
  uint32_t stream_;
  uint32_t rank_;
  uint64_t position_ = 0;            // in 32-bit words
  std::array<uint32_t, 4> block_{};  // the block last drawn from, and which one it is
  uint64_t block_index_;
};

// Random access: word `index` of the stream, without state. What stochastic rounding is keyed by.
uint32_t random_word(uint64_t seed, std::string_view name, uint32_t rank, uint64_t index);

}  // namespace xdc
