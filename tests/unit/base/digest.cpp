#include "core/base/digest.hpp"

#include <catch2/catch.hpp>

namespace xdc {

TEST_CASE("the digest of nothing is XXH3-128's known value") { CHECK(digest(std::string_view()) == "99aa06d3014798d86001c324468d497f"); }

TEST_CASE("a digest fed in pieces equals the digest of the whole") {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += static_cast<char>(i * 7);
  for (const size_t cut : {0, 1, 240, 1024, 4999, 5000}) {
    Digest pieces;
    pieces.update(std::string_view(text).substr(0, cut));
    pieces.update(std::as_bytes(std::span(text).subspan(cut)));
    CHECK(pieces.hex() == digest(text));
  }
}

TEST_CASE("one changed bit changes the digest") {
  std::string text(100, 'x');
  const auto before = digest(text);
  text[50] ^= 1;
  CHECK(digest(text) != before);
  CHECK(before.size() == 32);
}

}  // namespace xdc
