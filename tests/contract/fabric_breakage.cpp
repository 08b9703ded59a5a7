// Does a fabric keep its promises when something goes wrong? Deadlines and aborts are seen by whom they concern.
#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

#include "tests/contract/messages.hpp"

namespace xdc::contract {

TEST_CASE("a passed deadline leaves the communicator and its works usable", "[fabric]") {
  const auto setting = setting_of({1, 1});
  hold(setting, [view = setting.cluster.everyone(1)](Env& env, MemberId me) {
    const auto communicator = connected(env, view, "late");
    XDC_REQUIRE(communicator != nullptr);
    const auto buffer = buffer_of(env, 1000, me == 0 ? 5 : 0);
    if (me == 0) {
      env.clock.sleep_until(env.clock.now() + kShort * 3);
      const auto work = communicator->isend(1, {}, buffer->bytes(), wire_of(*buffer));
      XDC_EXPECT_OK(wait_one(*communicator, work, within(env, kLong)));
      return;
    }
    ControlWords control;
    const auto work = communicator->irecv(0, &control, buffer->bytes());
    const auto deadline = within(env, kShort);
    XDC_EXPECT_ERROR(ErrorCode::timeout, wait_one(*communicator, work, deadline));
    XDC_EXPECT(env.clock.now() >= deadline);
    XDC_EXPECT_ERROR(ErrorCode::timeout, wait_one(*communicator, work, deadline));  // already past
    XDC_EXPECT_OK(wait_one(*communicator, work, within(env, kLong)));
    XDC_EXPECT(holds_pattern(*buffer, 5));
  });
}

TEST_CASE("finished work wins over a passed deadline and the lowest index over the others", "[fabric]") {
  const auto setting = setting_of({3});
  hold(setting, [view = setting.cluster.everyone(1)](Env& env, MemberId me) {
    const auto communicator = connected(env, view, "ties");
    XDC_REQUIRE(communicator != nullptr);
    if (me != 0) {
      // The higher rank is first, so that "lowest index" is not "first to come".
      env.clock.sleep_until(env.clock.now() + milliseconds(me == 1 ? 40 : 0));
      const auto work = communicator->isend(0, {{uint64_t(me), 0, 0, 0}}, {}, {0, Traffic::control});
      XDC_EXPECT_OK(wait_one(*communicator, work, within(env, kLong)));
      return;
    }
    ControlWords from1, from2;
    const auto work1 = communicator->irecv(1, &from1, {});
    const auto work2 = communicator->irecv(2, &from2, {});
    env.clock.sleep_until(env.clock.now() + seconds(1));
    const auto past = env.clock.now();
    std::vector<Work*> works{work1.get(), work2.get()};
    auto finished = communicator->wait_any(works, past);
    XDC_EXPECT_OK(finished);
    XDC_EXPECT(finished.ok() && finished.value() == 0);
    works = {work2.get()};
    finished = communicator->wait_any(works, past);
    XDC_EXPECT_OK(finished);
    XDC_EXPECT(from1.word[0] == 1 && from2.word[0] == 2);
  });
}

TEST_CASE("an abort from another lane wakes the owner, works that no message met included", "[fabric]") {
  const auto setting = setting_of({2});
  hold(setting, [view = setting.cluster.everyone(1)](Env& env, MemberId me) {
    const auto communicator = connected(env, view, "abort");
    XDC_REQUIRE(communicator != nullptr);
    if (me == 1) {
      env.clock.sleep_until(env.clock.now() + kShort * 2);  // alive, and silent
      return;
    }
    const auto lane = env.lanes.spawn("aborter", [&] {
      env.clock.sleep_until(env.clock.now() + kShort);
      communicator->abort({ErrorCode::view_changed, "the first error"});
      communicator->abort({ErrorCode::failed, "a later one"});
    });
    ControlWords control;
    const auto work = communicator->irecv(1, &control, {});
    const auto before = env.clock.now();
    const auto finished = wait_one(*communicator, work, within(env, kLong));
    XDC_EXPECT_ERROR(ErrorCode::view_changed, finished);
    XDC_EXPECT(!finished.ok() && finished.error().message.find("the first error") != std::string::npos);
    XDC_EXPECT(env.clock.now() - before < kLong);
    lane->join();
    const auto later = communicator->isend(1, {}, {}, {0, Traffic::control});
    XDC_EXPECT_ERROR(ErrorCode::view_changed, wait_one(*communicator, later, within(env, kLong)));
  });
}

TEST_CASE("peers of a rank that aborts see it in works that wait for it", "[fabric]") {
  const auto setting = setting_of({1, 1, 1});
  hold(setting, [view = setting.cluster.everyone(1)](Env& env, MemberId me) {
    const auto communicator = connected(env, view, "abort");
    XDC_REQUIRE(communicator != nullptr);
    if (me == 2) {
      env.clock.sleep_until(env.clock.now() + kShort);
      communicator->abort({ErrorCode::aborted, "gives up"});
      XDC_EXPECT_ERROR(ErrorCode::aborted,
                       wait_one(*communicator, communicator->isend(0, {}, {}, {0, Traffic::control}), within(env, kLong)));
      env.clock.sleep_until(env.clock.now() + kShort * 3);
      return;
    }
    ControlWords control;
    const auto work = communicator->irecv(2, &control, {});  // nothing was ever sent for it
    const auto before = env.clock.now();
    XDC_EXPECT_ERROR(ErrorCode::peer_lost, wait_one(*communicator, work, within(env, kLong)));
    XDC_EXPECT(env.clock.now() - before < kLong);
    env.clock.sleep_until(env.clock.now() + kShort * 3);
  });
}

TEST_CASE("a deadline sooner than the news of an abort is what the waiter sees", "[fabric]") {
  const auto setting = setting_of({1, 1});
  hold(setting, [view = setting.cluster.everyone(1)](Env& env, MemberId me) {
    const auto communicator = connected(env, view, "abort");
    XDC_REQUIRE(communicator != nullptr);
    if (me == 1) {
      env.clock.sleep_until(env.clock.now() + kShort * 3);
      communicator->abort({ErrorCode::aborted, "gives up"});
      env.clock.sleep_until(env.clock.now() + kShort * 2);
      return;
    }
    ControlWords control;
    const auto work = communicator->irecv(1, &control, {});
    XDC_EXPECT_ERROR(ErrorCode::timeout, wait_one(*communicator, work, within(env, kShort)));
    XDC_EXPECT_ERROR(ErrorCode::peer_lost, wait_one(*communicator, work, within(env, kLong)));
  });
}

TEST_CASE("connect says who is missing", "[fabric]") {
  const auto setting = setting_of({1, 2});
  hold(setting, [cluster = setting.cluster](Env& env, MemberId me) {
    if (me == 2) {
      env.clock.sleep_until(env.clock.now() + kShort * 4);
      return;
    }
    const auto communicator = env.fabric.connect(cluster.everyone(1), "incomplete", within(env, kShort));
    XDC_EXPECT_ERROR(ErrorCode::timeout, communicator);
    XDC_REQUIRE(!communicator.ok());
    const auto& message = communicator.error().message;
    XDC_EXPECT(message.find(cluster.describe(2)) != std::string::npos);
    XDC_EXPECT(message.find(cluster.describe(1 - me)) == std::string::npos);
    env.clock.sleep_until(env.clock.now() + kShort * 4);
  });
}

}  // namespace xdc::contract
