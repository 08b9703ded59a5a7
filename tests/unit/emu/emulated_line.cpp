// Does an emulated line take the time, and drop what a line of its figures would?
#include "exec/emu/emulated_line.hpp"

#include <catch2/catch.hpp>

namespace xdc {
namespace {

EmulatedLine::Settings line_of(double bytes_per_s) { return {"here → there", bytes_per_s, milliseconds(10), {}, milliseconds(50), 0, 7}; }

TEST_CASE("a packet is at the other end after its own length and the line's, and the next one behind it") {
  EmulatedLine line(line_of(1e6));
  CHECK(*line.pass(TimePoint{}, 1, 1500) == TimePoint{} + nanoseconds(11'500'000));
  CHECK(*line.pass(TimePoint{}, 1, 500) == TimePoint{} + milliseconds(12));
  CHECK(*line.pass(TimePoint{} + seconds(1), 1, 1000) == TimePoint{} + milliseconds(1011));
  CHECK(line.account().bytes == 3000);
  CHECK(line.account().busy == milliseconds(3));
}

TEST_CASE("what would wait for longer than the queue lasts is dropped, and what comes when there is room again is not") {
  EmulatedLine line(line_of(1e6));
  int taken = 0;
  for (int i = 0; i < 100; ++i) taken += line.pass(TimePoint{}, 1, 1000).has_value() ? 1 : 0;
  CHECK(taken == 51);  // one at once, and 50 ms of waiting
  CHECK(line.account().dropped_by_queue == 49);
  CHECK(line.pass(TimePoint{} + milliseconds(2), 1, 1000));
}

TEST_CASE("a line that is cut drops all that is sent, and nothing that is on its way") {
  EmulatedLine line(line_of(1e6));
  const auto before = line.pass(TimePoint{}, 1, 1000);
  line.cut(true);
  CHECK(before);
  CHECK_FALSE(line.pass(TimePoint{} + milliseconds(1), 3, 3000));
  CHECK(line.account().dropped_by_fault == 3);
  line.cut(false);
  CHECK(line.pass(TimePoint{} + milliseconds(2), 1, 1000));
}

TEST_CASE("segments are lost at random at the line's rate, the same ones in every run of a seed") {
  auto settings = line_of(1e6);
  settings.loss = 0.01;
  const auto losses = [](EmulatedLine::Settings with) {
    EmulatedLine line(std::move(with));
    std::vector<int> at;
    for (int i = 0; i < 100'000; ++i) {
      if (line.loses_one()) at.push_back(i);
    }
    return at;
  };
  const auto first = losses(settings);
  CHECK(first.size() > 900);
  CHECK(first.size() < 1100);
  CHECK(losses(settings) == first);
  settings.seed = 8;
  CHECK(losses(settings) != first);
}

TEST_CASE("jitter delays and does not overtake") {
  auto settings = line_of(1e9);
  settings.jitter = milliseconds(5);
  EmulatedLine line(settings);
  TimePoint last;
  bool varies = false;
  for (int i = 0; i < 200; ++i) {
    const TimePoint sent = TimePoint{} + milliseconds(i);
    const auto there = line.pass(sent, 1, 100);
    REQUIRE(there);
    CHECK(*there >= last);
    CHECK(*there - sent >= milliseconds(10));
    CHECK(*there - sent < milliseconds(16));
    varies = varies || *there - sent > milliseconds(12);
    last = *there;
  }
  CHECK(varies);
}

TEST_CASE("a burst is what a line takes in a millisecond, and at least one segment") {
  CHECK(EmulatedLine(line_of(1e5)).burst(1500) == 1);
  CHECK(EmulatedLine(line_of(12.5e6)).burst(1500) == 8);
  CHECK(EmulatedLine(line_of(1e12)).burst(1500) == 64);
}

}  // namespace
}  // namespace xdc
