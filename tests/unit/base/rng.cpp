#include "core/base/rng.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>
#include <vector>

namespace xdc {
namespace {

using Block = std::array<uint32_t, 4>;

TEST_CASE("Philox gives the known answers of its authors") {
  CHECK(philox4x32({0, 0, 0, 0}, {0, 0}) == Block{0x6627e8d5U, 0xe169c58dU, 0xbc57ac4cU, 0x9b00dbd8U});
  const uint32_t ones = 0xffffffffU;
  CHECK(philox4x32({ones, ones, ones, ones}, {ones, ones}) == Block{0x408f276dU, 0x41c83b0eU, 0xa20bc7c6U, 0x6d5451fdU});
  CHECK(philox4x32({0x243f6a88U, 0x85a308d3U, 0x13198a2eU, 0x03707344U}, {0xa4093822U, 0x299f31d0U}) ==
        Block{0xd16cfe09U, 0x94fdccebU, 0x5001e420U, 0x24126ea1U});
}

TEST_CASE("a draw depends on seed, name, rank and position alone") {
  RandomStream stream(7, "data", 3);
  std::vector<uint32_t> words(100);
  for (auto& word : words) word = stream.next_u32();
  for (uint64_t i = 0; i < words.size(); ++i) CHECK(words[i] == random_word(7, "data", 3, i));
  stream.seek(42);
  CHECK(stream.next_u32() == words[42]);
  CHECK(stream.position() == 43);
  RandomStream copy = stream;
  CHECK(copy.next_u64() == stream.next_u64());
}

TEST_CASE("streams that differ in seed, name or rank differ") {
  const auto word = random_word(7, "data", 3, 0);
  CHECK(random_word(8, "data", 3, 0) != word);
  CHECK(random_word(7 + (uint64_t{1} << 32), "data", 3, 0) != word);
  CHECK(random_word(7, "date", 3, 0) != word);
  CHECK(random_word(7, "data", 4, 0) != word);
}

TEST_CASE("bounded draws stay below their bound and are even") {
  RandomStream stream(1, "below");
  std::array<int, 7> counts{};
  for (int i = 0; i < 70000; ++i) ++counts[stream.below(7)];
  for (const int count : counts) CHECK(std::abs(count - 10000) < 500);
  CHECK(stream.below(1) == 0);
  for (int i = 0; i < 1000; ++i) CHECK(stream.below((uint64_t{1} << 63) + 1) <= uint64_t{1} << 63);
}

TEST_CASE("uniform draws lie in [0, 1) with the right mean") {
  RandomStream stream(2, "uniform");
  double sum = 0;
  double sum_float = 0;
  for (int i = 0; i < 100000; ++i) {
    const double x = stream.uniform_double();
    const float y = stream.uniform_float();
    REQUIRE((x >= 0 && x < 1));
    REQUIRE((y >= 0 && y < 1));
    sum += x;
    sum_float += static_cast<double>(y);
  }
  CHECK(sum / 1e5 == Approx(0.5).margin(0.005));
  CHECK(sum_float / 1e5 == Approx(0.5).margin(0.005));
}

TEST_CASE("normal draws have the moments of a standard normal and take four words each") {
  RandomStream stream(3, "normal");
  double first = 0;
  double second = 0;
  double fourth = 0;
  constexpr int kDraws = 200000;
  for (int i = 0; i < kDraws; ++i) {
    const double x = stream.normal();
    first += x;
    second += x * x;
    fourth += x * x * x * x;
  }
  CHECK(stream.position() == uint64_t{4} * kDraws);
  CHECK(first / kDraws == Approx(0).margin(0.01));
  CHECK(second / kDraws == Approx(1).margin(0.02));
  CHECK(fourth / kDraws == Approx(3).margin(0.15));
}

TEST_CASE("gamma draws have mean and variance equal to their shape") {
  for (const double shape : {0.1, 0.5, 1.0, 2.5, 40.0}) {
    RandomStream stream(4, "gamma");
    double sum = 0;
    double squares = 0;
    constexpr int kDraws = 100000;
    for (int i = 0; i < kDraws; ++i) {
      const double x = stream.gamma(shape);
      REQUIRE(x >= 0);
      sum += x;
      squares += x * x;
    }
    const double mean = sum / kDraws;
    CHECK(mean == Approx(shape).epsilon(0.03));
    CHECK(squares / kDraws - mean * mean == Approx(shape).epsilon(0.06));
  }
}

TEST_CASE("a shuffle is a permutation and depends on the seed") {
  std::vector<int> items(100);
  std::iota(items.begin(), items.end(), 0);
  auto one = items;
  auto other = items;
  RandomStream(5, "shuffle").shuffle(std::span(one));
  RandomStream(6, "shuffle").shuffle(std::span(other));
  CHECK(one != items);
  CHECK(one != other);
  std::sort(one.begin(), one.end());
  CHECK(one == items);
}

}  // namespace
}  // namespace xdc
