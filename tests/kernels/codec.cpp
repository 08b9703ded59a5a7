// Do wire encodings round as IEEE 754 says, with and without the processor's help?
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/base/rng.hpp"
#include "core/math/fp16.hpp"
#include "tests/kernels/reference.hpp"

namespace xdc {
namespace {

constexpr size_t kHalves = 65536;

// The value of a half by its definition.
double value_of(uint32_t half) {
  const double sign = (half & 0x8000U) != 0 ? -1.0 : 1.0;
  const int exponent = static_cast<int>((half >> 10) & 0x1FU);
  const double mantissa = half & 0x3FFU;
  if (exponent == 31) {
    return mantissa == 0 ? sign * INFINITY : NAN;
  }
  return exponent == 0 ? sign * std::ldexp(mantissa, -24) : sign * std::ldexp(1024.0 + mantissa, exponent - 25);
}

TEST_CASE("Every half decodes to its value and encodes back to itself") {
  std::vector<uint16_t> halves(kHalves);
  std::iota(halves.begin(), halves.end(), uint16_t{0});
  std::vector<float> fast(kHalves), portable(kHalves);
  floats_from_halves(halves, fast);
  floats_from_halves_portable(halves, portable);
  std::vector<uint16_t> back(kHalves);
  halves_from_floats(fast, back);
  for (size_t i = 0; i < kHalves; ++i) {
    REQUIRE(std::bit_cast<uint32_t>(fast[i]) == std::bit_cast<uint32_t>(portable[i]));
    const double wanted = value_of(static_cast<uint32_t>(i));
    if (std::isnan(wanted)) {
      REQUIRE(std::isnan(fast[i]));
      REQUIRE(back[i] == (halves[i] | 0x200U));
    } else {
      REQUIRE(double(fast[i]) == wanted);
      REQUIRE(std::signbit(fast[i]) == std::signbit(wanted));
      REQUIRE(back[i] == halves[i]);
    }
  }
}

void compare_both(const std::vector<float>& values) {
  std::vector<uint16_t> fast(values.size()), portable(values.size());
  halves_from_floats(values, fast);
  halves_from_floats_portable(values, portable);
  for (size_t i = 0; i < values.size(); ++i) {
    CAPTURE(values[i], std::bit_cast<uint32_t>(values[i]));
    REQUIRE(fast[i] == portable[i]);
  }
}

TEST_CASE("Random bit patterns encode alike with and without F16C") {
  RandomStream random(5, "test/halves");
  std::vector<float> values(1U << 20);
  for (float& x : values) {
    x = std::bit_cast<float>(random.next_u32());
  }
  compare_both(values);
  for (float& x : values) {
    x = static_cast<float>(random.normal() * 1e-5);  // where halves are denormal
  }
  compare_both(values);
}

TEST_CASE("A value between two halves goes to the nearer one, a tie to the even one") {
  std::vector<float> around;
  for (uint32_t half = 0; half < 0x7BFFU; ++half) {
    const auto low = static_cast<float>(value_of(half));
    const auto high = static_cast<float>(value_of(half + 1));
    const float middle = low + (high - low) / 2;
    const auto even = static_cast<uint16_t>((half & 1U) == 0 ? half : half + 1);
    REQUIRE(half_from_float(middle) == even);
    REQUIRE(half_from_float(-middle) == (even | 0x8000U));
    REQUIRE(half_from_float(std::nextafter(middle, 0.0F)) == half);
    REQUIRE(half_from_float(std::nextafter(middle, INFINITY)) == half + 1);
    around.insert(around.end(), {middle, -middle, std::nextafter(middle, 0.0F), std::nextafter(middle, INFINITY)});
  }
  compare_both(around);
}

TEST_CASE("What is too large for a half becomes infinity, what is too small zero, with the sign kept") {
  CHECK(half_from_float(65504.0F) == 0x7BFF);
  CHECK(half_from_float(65519.996F) == 0x7BFF);
  CHECK(half_from_float(65520.0F) == 0x7C00);
  CHECK(half_from_float(-1e30F) == 0xFC00);
  CHECK(half_from_float(INFINITY) == 0x7C00);
  CHECK(half_from_float(0x1p-25F) == 0x0000);
  CHECK(half_from_float(-0x1p-25F) == 0x8000);
  CHECK(half_from_float(std::nextafter(0x1p-25F, 1.0F)) == 0x0001);
  CHECK(half_from_float(std::numeric_limits<float>::denorm_min()) == 0x0000);
  CHECK(std::isnan(float_from_half(half_from_float(NAN))));
}

void round_trip(CodecKind kind, std::vector<float>& x, Bytes wire, std::vector<float>& y) {
  EncodeArgs args;
  args.codec.kind = kind;
  args.x = tensor_of(x);
  args.wire = wire;
  cpu().encode({}, args);
  REQUIRE(cpu().decode({}, args.codec, wire, tensor_of(y)).ok());
}

TEST_CASE("A codec's wire holds the encoded tensor, of any length and at any even place") {
  for (const size_t n : {0U, 1U, 8U, 13U, 300U}) {
    RandomStream random(9, "test/wire");
    std::vector<float> x(n), y(n);
    for (float& one : x) {
      one = static_cast<float>(random.normal());
    }
    std::vector<std::byte> wire(4 * n + 2);
    const Bytes all{Space::host, wire.data(), wire.size()};
    round_trip(CodecKind::fp16, x, all.slice(2, 2 * n), y);
    for (size_t i = 0; i < n; ++i) {
      REQUIRE(y[i] == float_from_half(half_from_float(x[i])));
    }
    round_trip(CodecKind::none, x, all.slice(1, 4 * n), y);
    CHECK(x == y);
  }
}

}  // namespace
}  // namespace xdc
