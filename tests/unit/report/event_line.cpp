// Does an event read as its schema says, and do lines come in the order of their times?
#include "core/report/event_line.hpp"

#include <catch2/catch.hpp>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

namespace xdc {
namespace {

TEST_CASE("an event is one line of JSON with its time, source, step and fields, in this order") {
  const std::vector<TraceField> fields{{"loss", 0.1}, {"samples", int64_t{32}}};
  CHECK(event_line({"ring", "beijing", 3}, {12}, 7, "step", fields) ==
        "{\"time_ns\":12,\"variant\":\"ring\",\"datacenter\":\"beijing\",\"rank\":3,\"step\":7,\"event\":\"step\",\"loss\":0.1,\"samples\":"
        "32}\n");
}

TEST_CASE("an event's texts stay inside their quotes, and what is no number is null") {
  const std::vector<TraceField> fields{{"note", std::string_view("a\nb\\\"c")}, {"loss", std::numeric_limits<double>::quiet_NaN()}};
  const auto line = event_line({"two\n\"lines\"", "北京", 0}, {-1}, 0, "odd", fields, 5);
  REQUIRE(line.find('\n') == line.size() - 1);
  const auto event = nlohmann::json::parse(line);
  CHECK(event["time_ns"] == -1);
  CHECK(event["variant"] == "two\n\"lines\"");
  CHECK(event["datacenter"] == "北京");
  CHECK(event["note"] == "a\nb\\\"c");
  CHECK(event["loss"].is_null());
  CHECK(event["dropped"] == 5);
}

TEST_CASE("an event's losses read back as the same double") {
  const double third = 1.0 / 3;
  const std::vector<TraceField> fields{{"loss", third}};
  CHECK(nlohmann::json::parse(event_line({"v", "d", 0}, {0}, 1, "step", fields))["loss"].get<double>() == third);
}

TEST_CASE("lines are sorted by time, and those of one time stay in order") {
  const auto line = [](int64_t time, int64_t rank) { return event_line({"v", "d", rank}, {time}, 1, "step", {}); };
  CHECK(sorted_by_time(line(20, 0) + line(3, 1) + line(100, 2) + line(3, 0) + line(-5, 4)) ==
        line(-5, 4) + line(3, 1) + line(3, 0) + line(20, 0) + line(100, 2));
  CHECK(sorted_by_time("").empty());
}

}  // namespace
}  // namespace xdc
