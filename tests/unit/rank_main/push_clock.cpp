#include "core/rank_main/push_clock.hpp"

#include <catch2/catch.hpp>

namespace xdc {
namespace {

// Rank 0 has 6 samples an epoch, rank 1 has 2; both take 2 a step: epochs of 3 steps, in which rank 1 is exhausted after the first.
SampleSchedule unequal() { return SampleSchedule({{6, 1, 2}, {2, 1, 2}}); }
SampleSchedule equal(int ranks) { return SampleSchedule({{100 * ranks, ranks, 1}}); }

TEST_CASE("a worker's next push is its next step with samples") {
  const auto schedule = unequal();
  CHECK(next_push(schedule, 0, 0, 6) == 1);
  CHECK(next_push(schedule, 0, 5, 6) == 6);
  CHECK_FALSE(next_push(schedule, 0, 6, 6).has_value());
  CHECK(next_push(schedule, 1, 0, 6) == 1);
  CHECK(next_push(schedule, 1, 1, 6) == 4);
  CHECK_FALSE(next_push(schedule, 1, 4, 6).has_value());
  CHECK(next_push(schedule, 1, 4, kNoLastStep) == 7);
  CHECK(pushes_until(schedule, 0, 6) == 6);
  CHECK(pushes_until(schedule, 1, 6) == 2);
  CHECK(pushes_until(schedule, 1, 3) == 1);
  CHECK(pushes_until(schedule, 1, kNoLastStep) == kNoLastStep);
}

TEST_CASE("within s steps of the slowest everyone goes on, and nobody beyond") {
  const auto schedule = equal(3);
  for (const int64_t s : {0, 1, 3}) {
    PushClock clock(schedule, 50, s);
    for (int64_t ahead = 1; ahead <= s + 2; ++ahead) {
      clock.applied(1);
      INFO(s << " " << ahead);
      CHECK(clock.may_go_on(1) == (ahead <= s));
      CHECK(clock.may_go_on(0));
    }
    clock.applied(0);
    clock.applied(0);
    CHECK_FALSE(clock.may_go_on(1));  // member 2 still stands at 0
    clock.applied(2);
    clock.applied(2);
    CHECK(clock.may_go_on(1));
  }
}

TEST_CASE("without a bound everyone always goes on, until its last push") {
  const auto schedule = equal(2);
  PushClock clock(schedule, 5, std::nullopt);
  for (int i = 0; i < 4; ++i) {
    clock.applied(0);
    CHECK(clock.may_go_on(0));
  }
  clock.applied(0);
  CHECK(clock.has_ended(0));
  CHECK_FALSE(clock.may_go_on(0));
  CHECK_FALSE(clock.all_ended());
  for (int i = 0; i < 5; ++i) clock.applied(1);
  CHECK(clock.all_ended());
}

TEST_CASE("who is exhausted holds nobody up until its next epoch, and waits for it") {
  const auto schedule = unequal();
  PushClock clock(schedule, 6, 0);
  clock.applied(1);                 // its only push of the epoch: it stands before step 4
  CHECK_FALSE(clock.may_go_on(1));  // which begins when the other has come as far
  CHECK(clock.may_go_on(0));
  clock.applied(0);
  CHECK(clock.may_go_on(0));
  clock.applied(0);
  CHECK(clock.may_go_on(0));
  clock.applied(0);
  CHECK(clock.may_go_on(0));
  CHECK(clock.may_go_on(1));
  clock.applied(0);
  CHECK_FALSE(clock.may_go_on(0));  // now the other counts again
}

TEST_CASE("who has taken its last step holds nobody up") {
  const auto schedule = unequal();
  PushClock clock(schedule, 6, 0);
  clock.applied(1);
  for (int i = 0; i < 3; ++i) clock.applied(0);
  clock.applied(1);
  CHECK(clock.has_ended(1));
  clock.applied(0);
  CHECK(clock.may_go_on(0));
  PushClock left(schedule, kNoLastStep, 0);
  left.applied(0);
  CHECK_FALSE(left.may_go_on(0));
  left.ended(1);
  CHECK(left.may_go_on(0));
}

}  // namespace
}  // namespace xdc
