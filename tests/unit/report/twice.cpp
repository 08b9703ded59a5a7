#include "core/report/twice.hpp"

#include <catch2/catch.hpp>

#include "tests/unit/report/example.hpp"

namespace xdc {
namespace {

TEST_CASE("two runs that said and account for the same are equal, in whatever pieces it came") {
  Twice twice;
  twice.hear(0, "one\ntwo\nth");
  twice.hear(1, "o");
  twice.hear(1, "ne\ntwo\nthree\n");
  twice.hear(0, "ree\n");
  CHECK_FALSE(twice.equal());
  auto again = example_members();
  again[0].wall["elapsed"] = 12345;
  twice.ended(0, example_members());
  CHECK_FALSE(twice.equal());
  twice.ended(1, again);
  CHECK(twice.equal());
  CHECK(twice.events() == 3);
}

TEST_CASE("the first event that differs is found with its number, as soon as both have said it whole") {
  Twice twice;
  twice.hear(0, "same\nrank 3, round 12: 20 ms\nlater\n");
  twice.hear(1, "same\nrank 3, round 12: 2");
  CHECK_FALSE(twice.difference());
  twice.hear(1, "1 ms");
  CHECK_FALSE(twice.difference());
  twice.hear(1, "\n");
  REQUIRE(twice.difference());
  CHECK(twice.difference()->event == 2);
  CHECK(twice.difference()->said[0] == "rank 3, round 12: 20 ms");
  CHECK(twice.difference()->said[1] == "rank 3, round 12: 21 ms");
  twice.ended(0, example_members());
  twice.ended(1, example_members());
  CHECK_FALSE(twice.equal());
}

TEST_CASE("a line that begins as another one differs from it") {
  Twice twice;
  twice.hear(0, "12\n");
  twice.hear(1, "123\n");
  REQUIRE(twice.difference());
  CHECK(twice.difference()->event == 1);
}

TEST_CASE("a run that ends before the other differs there") {
  Twice twice;
  twice.hear(0, "one\ntwo\n");
  twice.hear(1, "one\n");
  twice.ended(1, example_members());
  CHECK_FALSE(twice.difference());
  twice.ended(0, example_members());
  REQUIRE(twice.difference());
  CHECK(twice.difference()->event == 2);
  CHECK(twice.difference()->said[0] == "two");
  CHECK(twice.difference()->said[1] == "nothing more");
}

TEST_CASE("accounts that differ are named by member and key") {
  Twice twice;
  auto other = example_members();
  other[2].steps[1].loss = 0.5;
  twice.ended(0, example_members());
  twice.ended(1, other);
  REQUIRE(twice.difference());
  CHECK(twice.difference()->event == 0);
  CHECK(twice.difference()->said[0] == "member 2, /steps/loss/1 = 0.125");
  CHECK(twice.difference()->said[1] == "member 2, /steps/loss/1 = 0.5");
}

TEST_CASE("a run far ahead is told to wait until the other has followed") {
  Twice twice;
  const std::string much(std::size_t{9} << 20, 'x');
  twice.hear(0, much);
  CHECK(twice.too_far_ahead(0));
  CHECK_FALSE(twice.too_far_ahead(1));
  twice.hear(0, "\n");
  twice.hear(1, much + "\n");
  CHECK_FALSE(twice.too_far_ahead(0));
  CHECK(twice.events() == 1);
}

}  // namespace
}  // namespace xdc
