// Do bf16, int8 and top-k encode every value as they say, bit for bit, also the awkward ones?
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/base/rng.hpp"
#include "core/codec/codec.hpp"
#include "tests/kernels/codec_reference.hpp"
#include "tests/kernels/reference.hpp"

namespace xdc {
namespace {

using Vector = std::vector<float>;
constexpr float kLargest = std::numeric_limits<float>::max();
constexpr float kLeast = std::numeric_limits<float>::denorm_min();
const CodecSpec kBf16{CodecKind::bf16};
const CodecSpec kInt8{CodecKind::int8};
const CodecSpec kStochastic{CodecKind::int8, Rounding::stochastic};

CodecSpec top_k(double density) { return {CodecKind::top_k, Rounding::nearest, density}; }

struct Wire {
  explicit Wire(int64_t size)
      : words(static_cast<size_t>(size + 3) / 4),
        bytes{Space::host, reinterpret_cast<std::byte*>(words.data()), static_cast<size_t>(size)} {}
  std::vector<uint32_t> words;
  Bytes bytes;
};

Wire encoded(const CodecSpec& codec, Vector x, const RoundingKey& key = {}, int64_t first_element = 0) {
  Wire wire(encoded_bytes(codec, static_cast<int64_t>(x.size())));
  EncodeArgs args;
  args.codec = codec;
  args.x = tensor_of(x);
  args.wire = wire.bytes;
  args.rounding = key;
  args.first_element = first_element;
  cpu().encode({}, args);
  return wire;
}

Vector round_trip(const CodecSpec& codec, const Vector& x, const RoundingKey& key = {}, int64_t first_element = 0) {
  const Wire wire = encoded(codec, x, key, first_element);
  Vector y(x.size(), -1);
  REQUIRE(cpu().decode({}, codec, wire.bytes, tensor_of(y)).ok());
  return y;
}

// Equal bits; any NaN is like any other.
void check_equal(const Vector& got, const Vector& wanted) {
  REQUIRE(got.size() == wanted.size());
  for (size_t i = 0; i < got.size(); ++i) {
    const bool same = std::bit_cast<uint32_t>(got[i]) == std::bit_cast<uint32_t>(wanted[i]);
    if (!same && !(std::isnan(got[i]) && std::isnan(wanted[i]))) {
      FAIL("element " << i << " is " << got[i] << ", not " << wanted[i]);
    }
  }
}

Vector normal(size_t n, double sigma, uint32_t rank = 0) {
  RandomStream random(3, "test/codec", rank);
  Vector x(n);
  for (float& one : x) {
    one = static_cast<float>(random.normal() * sigma);
  }
  return x;
}

TEST_CASE("Every codec gives what its description says, of any length and magnitude") {
  const RoundingKey key{77, 5, 3, 1, Tier::wan, false};
  for (const CodecSpec& codec : {kBf16, kInt8, kStochastic, top_k(0.1), top_k(0.013), top_k(1)}) {
    for (const size_t n : {0U, 1U, 2U, 7U, 255U, 256U, 257U, 511U, 513U, 3000U}) {
      for (const double sigma : {1.0, 1e-30, 1e-42, 1e30, 1e38}) {
        CAPTURE(codec_name(codec.kind), n, sigma);
        const Vector x = normal(n, sigma, static_cast<uint32_t>(n));
        check_equal(round_trip(codec, x, key, 512), reference_round_trip(codec, x, key, 512));
      }
    }
  }
}

TEST_CASE("Every pattern of 32 bits goes through every codec as described") {
  RandomStream random(5, "test/patterns");
  Vector x(1U << 18);
  for (float& one : x) {
    one = std::bit_cast<float>(random.next_u32());
  }
  for (const CodecSpec& codec : {kBf16, kInt8, kStochastic, top_k(0.003), top_k(0.5)}) {
    check_equal(round_trip(codec, x), reference_round_trip(codec, x, {}, 0));
  }
}

TEST_CASE("bf16 rounds to the nearer value, a tie to the even one, and keeps what is not finite") {
  const auto bits = [](uint32_t b) { return std::bit_cast<float>(b); };
  CHECK(round_trip(kBf16, {bits(0x3F808000), bits(0x3F808001), bits(0x3F818000), bits(0x3F807FFF), -0.0F}) ==
        Vector{bits(0x3F800000), bits(0x3F810000), bits(0x3F820000), bits(0x3F800000), -0.0F});
  const Vector y = round_trip(kBf16, {kLargest, -INFINITY, NAN, bits(0x7F800001), kLeast});
  CHECK(y[0] == INFINITY);
  CHECK(y[1] == -INFINITY);
  CHECK((std::isnan(y[2]) && std::isnan(y[3])));
  CHECK(y[4] == 0);
}

TEST_CASE("An int8 block stands for its largest element exactly, and loses at most half a step elsewhere") {
  const Vector x = normal(1000, 1);
  const Vector y = round_trip(kInt8, x);
  for (size_t begin = 0; begin < x.size(); begin += 256) {
    float largest = 0;
    for (size_t i = begin; i < std::min(x.size(), begin + 256); ++i) {
      largest = std::max(largest, std::fabs(x[i]));
    }
    for (size_t i = begin; i < std::min(x.size(), begin + 256); ++i) {
      CHECK(std::fabs(x[i] - y[i]) <= largest / 127 * 0.50001F);
    }
  }
}

TEST_CASE("An int8 wire is scales, then values; blocks of 256 have scales of their own") {
  Vector x(300, 0.0F);
  x[0] = 127, x[1] = 1, x[2] = -2.5F, x[3] = 3.5F, x[256] = -1.27e-3F, x[299] = 0.64e-3F;
  const Wire wire = encoded(kInt8, x);
  REQUIRE(wire.bytes.size == 300 + 2 * 4);
  CHECK(std::bit_cast<float>(wire.words[0]) == 1.0F);
  CHECK(std::bit_cast<float>(wire.words[1]) == 1.27e-3F / 127);
  const auto* q = reinterpret_cast<const int8_t*>(wire.bytes.data + 8);
  CHECK((q[0] == 127 && q[1] == 1 && q[2] == -2 && q[3] == 4 && q[4] == 0));  // ties to even
  CHECK((q[256] == -127 && q[299] == 64));
}

TEST_CASE("Zeros, denormals and the largest floats come through int8") {
  check_equal(round_trip(kInt8, Vector(300, 0.0F)), Vector(300, 0.0F));
  check_equal(round_trip(kStochastic, Vector(300, -0.0F)), Vector(300, 0.0F));
  CHECK(round_trip(kInt8, {kLeast * 63, -kLeast}) == Vector{0, 0});  // the scale is 0
  CHECK(round_trip(kInt8, {kLeast * 64, -kLeast}) == Vector{kLeast * 64, -kLeast});
  const Vector huge = round_trip(kInt8, {kLargest, -kLargest, kLargest / 2});
  CHECK((std::isfinite(huge[0]) && huge[0] > 0.999F * kLargest && huge[1] == -huge[0]));
}

TEST_CASE("What is not finite spoils its int8 block, and no other") {
  for (const float bad : {NAN, INFINITY, -INFINITY}) {
    Vector x = normal(700, 1);
    x[300] = bad;
    const Vector y = round_trip(kInt8, x), clean = round_trip(kInt8, normal(700, 1));
    for (size_t i = 0; i < x.size(); ++i) {
      CHECK(std::isnan(y[i]) == (i / 256 == 1));
      CHECK((i / 256 == 1 || y[i] == clean[i]));
    }
  }
}

TEST_CASE("Stochastic rounding has the right expectation, and goes to a neighbour only") {
  Vector x(256 * 4000, 0.0F);
  for (size_t i = 0; i < x.size(); i += 256) {
    x[i] = 127;  // a step is 1
  }
  const float values[] = {0.25F, -0.75F, 3.5F, -126.001F, 17};
  for (size_t i = 0; i < x.size(); ++i) {
    if (i % 256 != 0) {
      x[i] = values[i % 5];
    }
  }
  const Vector y = round_trip(kStochastic, x, {9, 1, 2, 0, Tier::lan, false});
  double sum[5] = {}, count[5] = {};
  for (size_t i = 0; i < x.size(); ++i) {
    REQUIRE(std::fabs(y[i] - x[i]) < 1);
    if (i % 256 != 0) {
      sum[i % 5] += double{y[i]};
      ++count[i % 5];
    }
  }
  for (size_t v = 0; v < 5; ++v) {
    // Standard deviation at most 0.5: five of them.
    CHECK(std::fabs(sum[v] / count[v] - double{values[v]}) < 5 * 0.5 / std::sqrt(count[v]));
  }
  CHECK(sum[4] == 17 * count[4]);  // what is whole stays
}

TEST_CASE("Rounding is drawn by seed, step, tier, sender, hop and place, and by nothing else") {
  const Vector x = normal(1024, 1);
  const RoundingKey key{7, 3, 2, 1, Tier::wan, false};
  const Vector whole = round_trip(kStochastic, x, key, 2560);
  CHECK(round_trip(kStochastic, x, key, 2560) == whole);
  // The same elements in two pieces.
  const Vector first = round_trip(kStochastic, {x.begin(), x.begin() + 512}, key, 2560);
  const Vector second = round_trip(kStochastic, {x.begin() + 512, x.end()}, key, 3072);
  CHECK(Vector(whole.begin(), whole.begin() + 512) == first);
  CHECK(Vector(whole.begin() + 512, whole.end()) == second);
  for (RoundingKey other :
       {RoundingKey{8, 3, 2, 1, Tier::wan, false}, RoundingKey{7 + (1ULL << 32), 3, 2, 1, Tier::wan, false},
        RoundingKey{7, 4, 2, 1, Tier::wan, false}, RoundingKey{7, 3, 1, 1, Tier::wan, false}, RoundingKey{7, 3, 2, 0, Tier::wan, false},
        RoundingKey{7, 3, 2, 1, Tier::lan, false}, RoundingKey{7, 3, 2, 1, Tier::wan, true}}) {
    CHECK(round_trip(kStochastic, x, other, 2560) != whole);
  }
  CHECK(round_trip(kStochastic, x, key, 2816) != whole);
  const RoundingKey finished{7, 3, 2, 1, Tier::wan, true}, elsewhere{7, 3, 9, 4, Tier::wan, true};
  CHECK(round_trip(kStochastic, x, finished) == round_trip(kStochastic, x, elsewhere));
}

TEST_CASE("A top-k wire is values, then ascending places; a tie goes to the lower one") {
  const Wire wire = encoded(top_k(0.4), {1, -3, 2, 3, -2, 0.5F, 2, 1, 0, 1});
  REQUIRE(wire.bytes.size == 8 * 4);
  const float values[] = {-3, 2, 3, -2};
  const uint32_t places[] = {1, 2, 3, 4};
  CHECK(std::memcmp(wire.bytes.data, values, sizeof values) == 0);
  CHECK(std::memcmp(wire.bytes.data + sizeof values, places, sizeof places) == 0);
}

TEST_CASE("Top-k sends what is not finite before all else") {
  const Vector y = round_trip(top_k(0.2), {kLargest, 1, INFINITY, 2, NAN, 3, 4, 5, 6, 7});
  CHECK((y[0] == 0 && y[2] == INFINITY && std::isnan(y[4]) && y[9] == 0));
}

TEST_CASE("A top-k message with places out of order or outside is refused") {
  Wire wire = encoded(top_k(0.4), {1, -3, 2, 3, -2, 0.5F, 2, 1, 0, 1});
  Vector y(10);
  REQUIRE(cpu().decode({}, top_k(0.4), wire.bytes, tensor_of(y)).ok());
  for (const std::vector<uint32_t>& places : {std::vector<uint32_t>{1, 2, 3, 10}, {1, 2, 2, 4}, {2, 1, 3, 4}, {0, 1, 2, 0xFFFFFFFFU}}) {
    std::copy(places.begin(), places.end(), wire.words.begin() + 4);
    const Status status = cpu().decode({}, top_k(0.4), wire.bytes, tensor_of(y));
    REQUIRE_FALSE(status.ok());
    CHECK(status.error().message.find("top-k") != std::string::npos);
  }
}

// sum of what is decoded + residual = sum of what went in.
void check_nothing_is_lost(CodecSpec codec, double tolerance) {
  codec.error_feedback = true;
  constexpr size_t kElements = 1100;
  Vector before(kElements, 0.0F), after(kElements, -1.0F), wanted_residual(kElements, 0.0F);
  std::vector<double> in(kElements, 0), out(kElements, 0);
  for (int64_t step = 1; step <= 50; ++step) {
    Vector x = normal(kElements, 1, static_cast<uint32_t>(step)), y(kElements);
    Wire wire(encoded_bytes(codec, kElements));
    EncodeArgs args{codec, tensor_of(x), wire.bytes, tensor_of(before), tensor_of(after), {1, step, 0, 0, Tier::wan, false}, 256};
    cpu().encode({}, args);
    REQUIRE(cpu().decode({}, codec, wire.bytes, tensor_of(y)).ok());
    check_equal(y, reference_feedback(codec, x, args.rounding, 256, wanted_residual));
    check_equal(after, wanted_residual);
    for (size_t i = 0; i < kElements; ++i) {
      in[i] += double{x[i]};
      out[i] += double{y[i]};
    }
    std::swap(before, after);
  }
  for (size_t i = 0; i < kElements; ++i) {
    REQUIRE(std::fabs(out[i] + double{before[i]} - in[i]) < tolerance);
  }
}

TEST_CASE("With error feedback nothing is lost: what was decoded and the residual are what went in") {
  for (const CodecSpec& codec : {CodecSpec{CodecKind::fp16}, kBf16, kInt8, kStochastic, top_k(0.05), top_k(0.001)}) {
    CAPTURE(codec_name(codec.kind));
    check_nothing_is_lost(codec, 1e-4);
  }
}

TEST_CASE("A residual is left as it was where an overflow or NaN went through") {
  for (CodecSpec codec : {CodecSpec{CodecKind::fp16}, kBf16, kInt8, top_k(0.5)}) {
    codec.error_feedback = true;
    Vector x{1e6F, NAN, 3e38F, 1}, before{0.5F, 0.25F, 3e38F, 0}, after(4, -1.0F);
    Wire wire(encoded_bytes(codec, 4));
    cpu().encode({}, {codec, tensor_of(x), wire.bytes, tensor_of(before), tensor_of(after), {}, 0});
    CAPTURE(codec_name(codec.kind));
    CHECK(after[1] == 0.25F);
    CHECK(after[2] == 3e38F);
    for (const float residual : after) {
      CHECK(std::isfinite(residual));
    }
  }
}

}  // namespace
}  // namespace xdc
