#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "core/report/report.hpp"
#include "tests/unit/report/example.hpp"

namespace xdc {
namespace {

using Catch::Contains;

TEST_CASE("a member's account survives JSON without loss") {
  auto report = example_members()[0];
  report.error = "shanghai rank 2: \"timeout\"\n北京";
  report.error_code = 3;
  report.steps[0].loss = 0.1 + 0.2;
  report.steps[1].loss = 5e-324;
  report.steps[2].loss = std::numeric_limits<double>::quiet_NaN();
  report.steps[3].loss = -std::numeric_limits<double>::infinity();
  report.steps[3].end_ns = std::numeric_limits<int64_t>::max();
  report.traffic = {{3, 1, 2, 3}, {7, 4, 5, 6, 8}};
  report.rounds_rolled_back = 2;
  report.rounds_exchanged = 9;
  report.samples_lost = 5;
  report.staleness = {0, 3, 1};
  report.applied = {2, 0, 1, 1};
  report.wall = {{"arithmetic", 12}, {"waiting", 34}};
  const auto text = to_json(report);
  const auto back = member_report_from_json(text);
  REQUIRE(back.ok());
  const auto& r = back.value();
  CHECK(r.error == report.error);
  CHECK(r.error_code == 3);
  CHECK(r.steps[0].loss == report.steps[0].loss);
  CHECK(r.steps[1].loss == 5e-324);
  CHECK(std::isnan(r.steps[2].loss));
  CHECK(r.steps[3].loss == -std::numeric_limits<double>::infinity());
  CHECK(r.steps[3].end_ns == report.steps[3].end_ns);
  CHECK(r.steps[3].samples == 8);
  CHECK(r.evaluations.size() == 2);
  CHECK(r.evaluations[1].accuracy == 0.95);
  CHECK(r.traffic[1].messages == 6);
  CHECK(r.traffic[1].returned_bytes == 8);
  CHECK(r.wall == report.wall);
  CHECK(r.staleness == report.staleness);
  CHECK(r.applied == report.applied);
  CHECK(to_json(r) == text);
}

TEST_CASE("a damaged account says what is wrong with it") {
  const auto why = [](std::string text) { return member_report_from_json(text).error().message; };
  CHECK_THAT(why(""), Contains("no JSON"));
  CHECK_THAT(why("{"), Contains("no JSON"));
  CHECK_THAT(why("[]"), Contains("member is missing"));
  CHECK_THAT(why("{}"), Contains("member is missing"));
  auto text = to_json(example_members()[0]);
  const auto at = text.find("\"samples\":[8,");
  REQUIRE(at != std::string::npos);
  CHECK_THAT(why(std::string(text).replace(at, 13, "\"samples\":[")), Contains("samples has another length"));
  CHECK_THAT(why(std::string(text).replace(at, 13, "\"samples\":['x',")), Contains("no JSON"));
  CHECK_THAT(why(std::string(text).replace(at, 13, "\"samples\":[1.5,")), Contains("samples is no whole number"));
}

TEST_CASE("a message with bytes that are no UTF-8 still makes a report") {
  MemberReport report;
  report.error = "file \xFF\xFE";
  CHECK(member_report_from_json(to_json(report)).ok());
}

}  // namespace
}  // namespace xdc
