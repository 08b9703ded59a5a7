#include "core/report/timeline.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

namespace xdc {
namespace {

using nlohmann::json;

Timeline two_cities(int first_process = 1) {
  return Timeline(first_process, "hier \"fp16\"", {"beijing", "shanghai"}, {{0, "rank 0"}, {1, "rank 1"}, {0, "server 0"}});
}

std::vector<json> events_of(Timeline& timeline, const std::string& phase) {
  std::vector<json> out;
  const auto file = json::parse(timeline_file({timeline.take()}));
  for (const auto& event : file.at("traceEvents")) {
    if (event.at("ph") == phase) out.push_back(event);
  }
  return out;
}

TEST_CASE("each datacenter of a variant is a process with its name") {
  auto timeline = two_cities(5);
  const auto names = events_of(timeline, "M");
  REQUIRE(names.size() == 4);
  CHECK(names[0].at("args").at("name") == "hier \"fp16\": beijing");
  CHECK(names[0].at("pid") == 5);
  CHECK(names[2].at("args").at("name") == "hier \"fp16\": shanghai");
  CHECK(names[2].at("pid") == 6);
}

TEST_CASE("work is a span on its rank's thread, to the nanosecond") {
  auto timeline = two_cities();
  timeline.work(1, "compute", "compute", 1'234'567, 1'234'568);
  timeline.work(1, "exchange", "round 3", 0, 5'000);
  timeline.work(1, "compute", "compute", 2'000'000, 3'000'000);
  const auto file = json::parse(timeline_file({timeline.take()}));
  std::vector<json> spans;
  json threads;
  for (const auto& event : file.at("traceEvents")) {
    if (event.at("ph") == "X") spans.push_back(event);
    if (event.at("name") == "thread_name") threads[std::to_string(event.at("tid").get<int>())] = event.at("args").at("name");
  }
  REQUIRE(spans.size() == 3);
  CHECK(spans[0].at("ts").get<double>() == 1234.567);
  CHECK(spans[0].at("dur").get<double>() == 0.001);
  CHECK(spans[0].at("pid") == 2);
  CHECK(spans[0].at("tid") == spans[2].at("tid"));
  CHECK(threads.size() == 2);
  CHECK(threads.at(std::to_string(spans[0].at("tid").get<int>())) == "rank 1 compute");
  CHECK(threads.at(std::to_string(spans[1].at("tid").get<int>())) == "rank 1 exchange");
}

TEST_CASE("a message is a pair of events on its line's track, with its bytes, from first to last byte") {
  auto timeline = two_cities();
  timeline.message({0, 1, "ring", 7, 1'000, 3'500, 23'500, 400, 480});
  timeline.message({0, 2, "ring", 7, 1'000, 2'000, 2'001, 4, 36});
  auto copy = timeline;
  const auto begins = events_of(timeline, "b");
  const auto ends = events_of(copy, "e");
  REQUIRE(begins.size() == 2);
  REQUIRE(ends.size() == 2);
  CHECK(begins[0].at("name") == "beijing → shanghai");
  CHECK(begins[0].at("args").at("payload_bytes") == 400);
  CHECK(begins[0].at("args").at("wire_bytes") == 480);
  CHECK(begins[0].at("args").at("round") == 7);
  CHECK(begins[0].at("args").at("arrival_us").get<double>() == 23.5);
  CHECK(begins[1].at("name") == "inside");
  for (int i = 0; i < 2; ++i) {
    for (const auto* key : {"name", "cat", "id", "pid"}) CHECK(begins[i].at(key) == ends[i].at(key));
  }
  CHECK(begins[0].at("id") != begins[1].at("id"));
  CHECK(ends[0].at("ts").get<double>() == 3.5);
}

TEST_CASE("a mark carries its values") {
  auto timeline = two_cities();
  timeline.mark(0, "evaluation", 2'000, {{"accuracy", 0.5}});
  const auto marks = events_of(timeline, "i");
  REQUIRE(marks.size() == 1);
  CHECK(marks[0].at("args").at("accuracy") == 0.5);
}

TEST_CASE("a timeline of no parts is still JSON") { CHECK(json::parse(timeline_file({})).at("traceEvents").empty()); }

TEST_CASE("what was taken from a timeline in pieces is one file") {
  auto timeline = two_cities();
  std::vector<std::string> parts{timeline.take()};
  timeline.work(0, "compute", "compute", 0, 1);
  parts.push_back(timeline.take());
  CHECK(timeline.take().empty());
  CHECK(json::parse(timeline_file(parts)).at("traceEvents").size() == 7);
}

}  // namespace
}  // namespace xdc
