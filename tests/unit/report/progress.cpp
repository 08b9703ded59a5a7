#include "core/report/progress.hpp"

#include <catch2/catch.hpp>

#include "core/report/text.hpp"

namespace xdc {

TEST_CASE("progress is the mean over variants and names those that run") {
  const auto line = progress_line({{"ring", 1}, {"central PS", 0.5}, {"hierarchical", 0}}, 120);
  CHECK(line == "[===============>              ]  50 %  1 of 3 variants done, now: central PS");
}

TEST_CASE("a progress line fits the terminal, whatever it is given") {
  CHECK(display_width(progress_line({{std::string(300, 'x'), 0.1}}, 40)) == 40);
  CHECK(progress_line({}, 80).find("100 %") != std::string::npos);
  CHECK(progress_line({{"a", 7}, {"b", -3}}, 80).find(" 50 %") != std::string::npos);
}

}  // namespace xdc
