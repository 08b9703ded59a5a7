#include "core/report/text.hpp"

#include <catch2/catch.hpp>

namespace xdc {

TEST_CASE("width counts columns, not bytes") {
  CHECK(display_width("") == 0);
  CHECK(display_width("ring") == 4);
  CHECK(display_width("北京") == 4);
  CHECK(display_width("é") == 1);
  CHECK(display_width("e\xCC\x81") == 1);
  CHECK(display_width("\xFF\xC3") == 2);
  CHECK(padded_left("北京", 6) == "  北京");
  CHECK(padded_right("abc", 2) == "abc");
}

TEST_CASE("a text is cut between characters and cannot move the cursor") {
  CHECK(shortened_to("hierarchical", 12) == "hierarchical");
  CHECK(shortened_to("hierarchical", 6) == "hiera…");
  CHECK(shortened_to("北京上海", 5) == "北京…");
  CHECK(shortened_to("北京上海", 4) == "北…");
  CHECK(shortened_to("a\x1b[2Jb\n", 10) == "a?[2Jb?");
  CHECK(shortened_to("\xFFok", 10) == "\xEF\xBF\xBDok");
}

}  // namespace xdc
