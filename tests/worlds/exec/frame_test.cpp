// Does a header survive its way, and is anything else told from one?
#include "exec/grpc/frame.hpp"

#include <catch2/catch.hpp>
#include <vector>

namespace xdc {

TEST_CASE("a header reads back as it was written", "[exec]") {
  const FrameHeader header{
      FrameKind::message, 7, ~uint64_t{0}, 0x0123456789abcdef, 0xfedcba9876543210, {{1, ~uint64_t{0}, 0, 0x8000000000000000}}};
  const auto decoded = decode(encode(header));
  REQUIRE(decoded);
  REQUIRE(decoded->kind == FrameKind::message);
  REQUIRE(decoded->payload_bytes == header.payload_bytes);
  REQUIRE(decoded->sequence == header.sequence);
  REQUIRE(decoded->epoch == header.epoch);
  REQUIRE(decoded->checksum == header.checksum);
  REQUIRE(decoded->control == header.control);
  REQUIRE(decode(encode({FrameKind::bye, 1, 3, 0, 0, {}}))->kind == FrameKind::bye);
}

TEST_CASE("a header with any other magic or kind is refused", "[exec]") {
  const auto good = encode({FrameKind::message, 1, 2, 0, 0, {}});
  for (size_t at = 0; at < 8; ++at) {
    auto bad = good;
    bad[at] ^= std::byte{0x40};
    REQUIRE(!decode(bad));
  }
}

TEST_CASE("a checksum sees every bit of header and contents, however they are fed", "[exec]") {
  const FrameHeader header{FrameKind::message, 1, 2, 3, 0, {{4, 5, 6, 7}}};
  const std::vector<std::byte> contents(300, std::byte{9});
  const auto of = [](const FrameHeader& h, std::span<const std::byte> bytes, size_t at) {
    Checksum checksum(h);
    checksum.update(bytes.first(at));
    checksum.update(bytes.subspan(at));
    return checksum.value();
  };
  const uint64_t right = of(header, contents, 100);
  CHECK(of(header, contents, 0) == right);
  auto stamped = header;
  stamped.checksum = right;
  CHECK(of(stamped, contents, 7) == right);
  auto other = header;
  other.control.word[3] ^= 1;
  CHECK(of(other, contents, 100) != right);
  auto damaged = contents;
  damaged[299] ^= std::byte{0x80};
  CHECK(of(header, damaged, 100) != right);
}

}  // namespace xdc
