#include "core/base/edit_distance.hpp"

#include <catch2/catch.hpp>

namespace xdc {

TEST_CASE("the edit distance counts insertions, deletions, replacements and swaps") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("kitten", "sitting") == 3);
  CHECK(edit_distance("bandwidth", "bandwdith") == 1);
  CHECK(edit_distance("ca", "abc") == 3);
}

TEST_CASE("the nearest name is offered only when it is near enough to be meant") {
  const std::vector<std::string> names{"beijing", "shanghai", "guangzhou"};
  CHECK(nearest_of("bejing", names) == "beijing");
  CHECK(nearest_of("Shanghai", names) == "shanghai");
  CHECK(nearest_of("paris", names).empty());
  CHECK(nearest_of("", names).empty());
  CHECK(nearest_of(std::string(100000, 'b'), names).empty());
  CHECK(nearest_of("Gbs", {"bps", "Gbps", "GB/s"}) == "Gbps");
  CHECK(nearest_of("a", {"b", "c"}) == "b");
  CHECK(nearest_of("x", {}).empty());
}

}  // namespace xdc
