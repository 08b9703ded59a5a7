// Does a header survive its way, and is anything else told from one?
#include "exec/grpc/frame.hpp"

#include <catch2/catch.hpp>

namespace xdc {

TEST_CASE("a header reads back as it was written", "[exec]") {
  const FrameHeader header{FrameKind::message, 0x0123456789abcdef, ~uint64_t{0}, {{1, ~uint64_t{0}, 0, 0x8000000000000000}}};
  const auto decoded = decode(encode(header));
  REQUIRE(decoded);
  REQUIRE(decoded->kind == FrameKind::message);
  REQUIRE(decoded->payload_bytes == header.payload_bytes);
  REQUIRE(decoded->sequence == header.sequence);
  REQUIRE(decoded->control == header.control);
  REQUIRE(decode(encode({FrameKind::bye, 0, 3, {}}))->kind == FrameKind::bye);
}

TEST_CASE("a header with any other magic or kind is refused", "[exec]") {
  const auto good = encode({FrameKind::message, 1, 2, {}});
  for (size_t at = 0; at < 8; ++at) {
    auto bad = good;
    bad[at] ^= std::byte{0x40};
    REQUIRE(!decode(bad));
  }
}

}  // namespace xdc
