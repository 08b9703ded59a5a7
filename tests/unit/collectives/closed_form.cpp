#include "core/collectives/closed_form.hpp"

#include <catch2/catch.hpp>

using namespace xdc;

namespace {
const CodecSpec kNone{}, kFp16{CodecKind::fp16};
const Geometry kSame{256 * 8};
}  // namespace

TEST_CASE("a ring edge carries 2(n-1)/n of the tensor where it divides") {
  const auto chunks = deal({0, 256 * 8}, 4);
  for (int edge = 0; edge < 4; ++edge) {
    CHECK(ring_edge_bytes(kSame, chunks, edge, kNone, kNone) == 2 * 3 * 4 * 512);
    CHECK(ring_edge_bytes(kSame, chunks, edge, kFp16, kFp16) == 2 * 3 * 2 * 512);
  }
}

TEST_CASE("uneven chunks: edge i does not carry chunk i+1 in reduce-scatter nor chunk i+2 in all-gather") {
  const auto chunks = deal({0, 256 * 4}, 3);  // 512, 256, 256
  CHECK(ring_edge_bytes(kSame, chunks, 0, kNone, kNone) == 4 * (512 + 256) + 4 * (512 + 256));
  CHECK(ring_edge_bytes(kSame, chunks, 1, kNone, kNone) == 4 * (512 + 256) + 4 * (256 + 256));
  CHECK(ring_edge_bytes(kSame, chunks, 2, kNone, kNone) == 4 * (256 + 256) + 4 * (512 + 256));
}

TEST_CASE("one rank alone sends nothing") { CHECK(ring_edge_bytes(kSame, deal({0, 1000}, 1), 0, kNone, kNone) == 0); }

TEST_CASE("a mesh pair carries the sender's finished part and its contribution to the receiver's") {
  const auto parts = deal({0, 256 * 4}, 3);
  CHECK(mesh_pair_bytes(kSame, parts, 0, 1, kNone) == 4 * (512 + 256));
  CHECK(mesh_pair_bytes(kSame, parts, 1, 2, kFp16) == 2 * (256 + 256));
}

TEST_CASE("an all-gather pair carries everything") { CHECK(allgather_pair_bytes(kSame, {0, 1000}, kFp16) == 2000); }
