#include "core/collectives/geometry.hpp"

#include <catch2/catch.hpp>
#include <vector>

using namespace xdc;

namespace {

const CodecSpec kNone{}, kInt8{CodecKind::int8}, kTopK{CodecKind::top_k, Rounding::nearest, 0.01};

// Lenet and PP-OCRv4; a linear model and one of 13 B; a real one that is larger; blocks that are as many; one block; the same.
const std::vector<std::pair<int64_t, int64_t>> kPairs{
    {37'509'117, 61'706}, {12'853'473'280, 7'850}, {1'000, 61'706}, {1'000, 800}, {100, 90}, {1'000'000, 200}, {61'706, 61'706}};

}  // namespace

TEST_CASE("without a profile every range is itself") {
  const Geometry same(61'706);
  for (const Range range : deal({0, 61'706}, 7)) CHECK(same.real(range) == range);
  CHECK(same.real(Range{512, 0}) == Range{512, 0});
}

TEST_CASE("parts that tile the planned buffer tile the real one, cut at blocks") {
  for (const auto& [planned, real] : kPairs) {
    const Geometry geometry(planned, real, true);
    for (const int parts : {1, 2, 3, 16, 241, 1'000}) {
      int64_t at = 0;
      for (const Range part : deal({0, planned}, parts)) {
        if (part.count == 0) continue;
        const Range slice = geometry.real(part);
        REQUIRE(slice.begin == at);
        REQUIRE(slice.count >= 0);
        REQUIRE((slice.begin % kBlock == 0 || slice.count == 0));
        at = slice.end();
      }
      INFO(planned << " elements planned, " << real << " real, " << parts << " parts");
      REQUIRE(at == real);
    }
  }
}

TEST_CASE("a boundary stands where its share of the blocks stands, rounded down") {
  const Geometry geometry(256 * 10, 256 * 4 - 1, true);
  std::vector<int64_t> begins;
  for (int64_t x = 0; x < 10; ++x) begins.push_back(geometry.real(Range{256 * x, 256}).begin / 256);
  CHECK(begins == std::vector<int64_t>{0, 0, 0, 1, 1, 2, 2, 2, 3, 3});
  CHECK(geometry.real(Range{256 * 8, 512}) == Range{768, 255});  // the last block is short
  CHECK(geometry.real(Range{0, 512}).count == 0);                // a message without contents
}

TEST_CASE("a message counts as its planned elements where the profile is charged, else as what it holds") {
  const Range part{256 * 5, 256 * 5};
  const Geometry charged(256 * 10, 256 * 2, true), sent(256 * 10, 256 * 2, false);
  CHECK(charged.wire_bytes(kNone, part) == 4 * 256 * 5);
  CHECK(sent.wire_bytes(kNone, part) == 4 * 256);
  CHECK(charged.wire_bytes(kInt8, part) == 256 * 5 + 4 * 5);
  CHECK(sent.wire_bytes(kInt8, part) == 256 + 4);
  CHECK(charged.wire_bytes(kTopK, part) == 8 * 13);
  CHECK(sent.wire_bytes(kTopK, {0, 256}) == 0);  // empty there
}

TEST_CASE("a slice is the range's part of a tensor, whole or held in part") {
  std::vector<float> values(1'000);
  const Tensor flat = Tensor::flat({Space::host, reinterpret_cast<std::byte*>(values.data()), 4'000}, DType::f32, 1'000);
  const Geometry geometry(256 * 8, 1'000, true);
  const Tensor slice = geometry.slice(flat, {256 * 4, 256 * 4});
  CHECK(slice.bytes.data == flat.bytes.data + 4 * 512);
  CHECK(slice.elements() == 488);
  const Range held{256 * 4, 256 * 4};
  const Tensor within = geometry.slice_of(slice, held, {256 * 6, 512});
  CHECK(within.bytes.data == flat.bytes.data + 4 * 768);
  CHECK(within.elements() == 232);
}
