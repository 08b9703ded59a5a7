#include "core/report/bounds.hpp"

#include <catch2/catch.hpp>

#include "tests/unit/report/example.hpp"

namespace xdc {
namespace {

using Catch::Contains;

TEST_CASE("a ledger that misses its closed form violates a bound") {
  auto facts = example_facts();
  facts.closed_form[{0, 1}] = 101;
  const auto v = assemble(facts, example_members()).value();
  REQUIRE(v.bound.violated.size() == 1);
  CHECK_THAT(v.bound.violated[0], Contains("beijing to shanghai: 400 payload bytes, but the closed form says 404"));
}

TEST_CASE("no step is shorter than the computation of the rank that computes longest") {
  const auto v = assemble(example_facts(), example_members()).value();
  CHECK(v.bound.step_s == 0.006);
  CHECK(v.bound.by == "computation of shanghai rank 2");
  CHECK(v.bound.violated.empty());
}

TEST_CASE("no step is shorter than a line needs for its closed form") {
  auto facts = facts_with_lines();
  facts.lines[{0, 1}].rate = facts.lines[{1, 0}].rate = 12'500;
  const auto v = assemble(facts, example_members()).value();
  CHECK(v.bound.step_s == 0.008);
  CHECK(v.bound.by == "beijing to shanghai");
  CHECK(v.bound.violated.empty());
}

TEST_CASE("a time below its bound is named with the line that could not have been so fast") {
  auto facts = facts_with_lines();
  facts.lines[{0, 1}].rate = facts.lines[{1, 0}].rate = 5'000;
  const auto v = assemble(facts, example_members()).value();
  REQUIRE(v.bound.violated.size() == 1);
  CHECK_THAT(v.bound.violated[0], Contains("4 steps ended after 40 ms, but beijing to shanghai needs 20 ms for each"));
}

TEST_CASE("a time that meets its bound exactly is none that violates it") {
  auto facts = facts_with_lines();
  facts.lines[{0, 1}].rate = facts.lines[{1, 0}].rate = 10'000;
  CHECK(assemble(facts, example_members()).value().bound.violated.empty());
}

TEST_CASE("a line is used for its bytes over its rate and the time") {
  const auto v = assemble(facts_with_lines(), example_members()).value();
  CHECK(v.links[0].utilisation == Approx(480 / (100'000 * 0.04)));
  CHECK(v.links[1].utilisation == Approx(240 / (100'000 * 0.04)));
  CHECK(v.busiest_line() == &v.links[0]);
  CHECK(assemble(example_facts(), example_members()).value().busiest_line() == nullptr);
}

TEST_CASE("a round that votes to stop discarded counts for no step's use of a line") {
  auto members = example_members();
  for (auto& member : members) member.rounds_exchanged = 5;
  for (auto& traffic : {&members[2].traffic, &members[3].traffic}) {
    for (auto& count : *traffic) count.payload_bytes = count.payload_bytes / 4 * 5, count.wire_bytes = count.wire_bytes / 4 * 5;
  }
  const auto v = assemble(facts_with_lines(), members).value();
  CHECK(v.bound.violated.empty());
  CHECK(v.links[0].utilisation == Approx(480 / (100'000 * 0.04)));
}

TEST_CASE("the slowest worker's end is what a bound is held against, not the first one's") {
  auto facts = facts_with_lines();
  facts.lines[{0, 1}].rate = facts.lines[{1, 0}].rate = 9'000;  // 44 ms for four steps
  auto members = example_members();
  CHECK(assemble(facts, members).value().bound.violated.size() == 1);
  members[2].steps.back().end_ns = 45'000'000;
  CHECK(assemble(facts, members).value().bound.violated.empty());
}

}  // namespace
}  // namespace xdc
