// Does a launcher add up what its ranks say, and say honestly what it does not know?
#include "exec/launcher/run_status.hpp"

#include <catch2/catch.hpp>
#include <limits>

#include "core/report/text.hpp"

namespace xdc {
namespace {

// Two datacenters with two workers and one, and a server in the second.
RunStatus::Setting setting() {
  RunStatus::Setting out;
  out.variant = "ring";
  out.cluster.datacenters = {"office", "branch"};
  out.cluster.members = {
      {0, Role::worker, 0, 0, 0, 0}, {1, Role::worker, 0, 0, 1, 1}, {2, Role::worker, 1, 0, 0, 0}, {3, Role::server, 1, 0, -1, 0}};
  out.here = {0, 1, 2, 3};
  out.steps = 10;
  out.routes = {{{0, 1}, {{0, 1}}}, {{1, 0}, {{1, 0}}}};
  return out;
}

StatusRecord step(int64_t member, int64_t number, double loss, int64_t samples = 8) {
  StatusRecord record;
  record.member = member;
  record.step = number;
  record.loss = loss;
  record.samples = samples;
  return record;
}

StatusRecord traffic(int64_t member, int64_t to, int64_t payload, int64_t wire) {
  StatusRecord record;
  record.kind = StatusRecord::Kind::traffic;
  record.member = member;
  record.to = to;
  record.payload_bytes = payload;
  record.wire_bytes = wire;
  return record;
}

TimePoint at(double s) { return TimePoint{} + from_seconds(s); }

TEST_CASE("a step counts, and its loss is known, once every worker has told of it") {
  RunStatus status(setting());
  CHECK(status.step() == 0);
  status.take(step(0, 1, 0.5));
  status.take(step(1, 1, 0.25));
  CHECK(status.step() == 0);
  CHECK_FALSE(status.loss());
  status.take(step(0, 2, 9));  // ahead of the others
  status.take(step(2, 1, 0.125));
  CHECK(status.step() == 1);
  CHECK(status.loss() == 0.875);
  CHECK(status.loss_step() == 1);
  CHECK(status.part() == 0.1);
  CHECK(status.ranks().at(0).samples == 16);
  CHECK(status.ranks().at(0).steps == 2);
}

TEST_CASE("without losses there is none, and a step that is told late does not bring an old one back") {
  RunStatus status(setting());
  const double none = std::numeric_limits<double>::quiet_NaN();
  for (const int64_t member : {0, 1, 2}) status.take(step(member, 2, none));
  CHECK(status.step() == 2);
  CHECK_FALSE(status.loss());
  CHECK(status.loss_step() == 2);
  for (const int64_t member : {0, 1, 2}) status.take(step(member, 1, 1));
  CHECK_FALSE(status.loss());
}

TEST_CASE("workers that run far ahead take no more memory than there is for them") {
  RunStatus status(setting());
  for (int64_t number = 1; number <= 50'000; ++number) status.take(step(0, number, 1));
  for (const int64_t member : {1, 2}) status.take(step(member, 50'000, 1));
  CHECK(status.loss() == 3);
}

TEST_CASE("a member's traffic is what it says last, on every line of its route, and strangers count for nothing") {
  auto three = setting();
  three.cluster.datacenters.push_back("plant");
  three.routes[{0, 2}] = {{0, 1}, {1, 2}};
  RunStatus status(three);
  status.take(traffic(0, 1, 100, 130));
  status.take(traffic(0, 1, 200, 260));
  status.take(traffic(1, 2, 1000, 1100));
  status.take(traffic(3, 0, 7, 9));
  status.take(traffic(99, 0, 5, 5));
  status.take(traffic(0, 0, 5, 5));  // stays inside
  CHECK(status.lines().at({0, 1}).payload_bytes == 1200);
  CHECK(status.lines().at({0, 1}).wire_bytes == 1360);
  CHECK(status.lines().at({1, 2}).wire_bytes == 1100);
  CHECK(status.lines().at({1, 0}).payload_bytes == 7);
}

TEST_CASE("rates are of the last seconds, and fall when nothing comes") {
  RunStatus status(setting());
  status.tick(at(0));
  CHECK_FALSE(status.samples_per_s());
  for (int second = 1; second <= 20; ++second) {
    for (const int64_t member : {0, 1, 2}) status.take(step(member, second, 1, second <= 10 ? 10 : 20));
    status.take(traffic(0, 1, 0, second * 1000));
    status.tick(at(second));
  }
  CHECK(status.samples_per_s().value() == Approx(60));
  CHECK(status.lines().at({0, 1}).wire_bytes_per_s.value() == Approx(1000));
  for (int second = 21; second <= 40; ++second) status.tick(at(second));
  CHECK(status.samples_per_s().value() < 10);
}

TEST_CASE("the time that is left goes by the pace since the first step") {
  RunStatus status(setting());
  status.tick(at(100));  // starting took long
  CHECK_FALSE(status.left());
  for (int number = 1; number <= 4; ++number) {
    for (const int64_t member : {0, 1, 2}) status.take(step(member, number, 1));
    status.tick(at(100 + 2 * number));
  }
  CHECK(status.left() == seconds(12));
  auto by_time = setting();
  by_time.steps = 0;
  by_time.time = seconds(60);
  RunStatus timed(by_time);
  for (const int64_t member : {0, 1, 2}) timed.take(step(member, 1, 1));
  timed.tick(at(15));
  CHECK(timed.left() == seconds(45));
  CHECK(timed.part() == 0.25);
}

RunStatus half_way(RunStatus::Setting made) {
  RunStatus status(std::move(made));
  status.tick(at(0));
  for (const int64_t member : {0, 1, 2}) status.take(step(member, 5, 0.25, 10));
  status.take(traffic(0, 1, 0, 2'000'000));
  status.take(traffic(2, 0, 0, 4'000'000));
  status.tick(at(1));
  status.tick(at(2));
  return status;
}

TEST_CASE("the line says step, loss, pace and the lines, the busiest first") {
  CHECK(status_line(half_way(setting()), "[1/2] ", 120) ==
        "[1/2] ring  step 5/10  loss 0.75  15 samples/s  branch → office 2 MB/s  office → branch 1 MB/s");
}

TEST_CASE("a narrow terminal loses lines first, and is told how many") {
  const auto status = half_way(setting());
  CHECK(status_line(status, "", 79) == "ring  step 5/10  loss 0.75  15 samples/s  branch → office 2 MB/s  +1 lines");
  CHECK(status_line(status, "", 55) == "ring  step 5/10  loss 0.75  15 samples/s  +2 lines");
  CHECK(status_line(status, "", 30) == "ring  step 5/10  loss 0.75");
  for (int width = 1; width < 120; ++width) CHECK(display_width(status_line(status, "", width)) <= width);
}

TEST_CASE("a launcher of a share says that it knows a share") {
  auto share = setting();
  share.here = {0, 1};
  RunStatus status(share);
  status.tick(at(0));
  for (const int64_t member : {0, 1}) status.take(step(member, 5, 0.25, 10));
  status.tick(at(2));
  CHECK(status_line(status, "", 120) == "ring  2 of 3 ranks  step 5/10  part of the loss 0.5  10 samples/s");
  share.here = {3};
  CHECK(status_line(RunStatus(share), "", 120) == "ring  0 of 3 ranks");
}

}  // namespace
}  // namespace xdc
