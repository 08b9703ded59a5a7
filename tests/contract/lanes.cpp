// Do two things really happen at once, and does the clock keep its word?
#include <catch2/catch.hpp>
#include <vector>

#include "tests/contract/world.hpp"

namespace xdc::contract {

TEST_CASE("sleeping ends at its time and not before, and a past time costs nothing", "[clock]") {
  hold(setting_of({1}), [exact = world().is_virtual_time()](Env& env, MemberId) {
    for (const auto d : {nanoseconds(1), nanoseconds(999), milliseconds(1), milliseconds(30)}) {
      const auto target = env.clock.now() + d;
      env.clock.sleep_until(target);
      XDC_EXPECT(exact ? env.clock.now() == target : env.clock.now() >= target);
    }
    const auto before = env.clock.now();
    env.clock.sleep_until(TimePoint{});
    env.clock.sleep_until(before);
    XDC_EXPECT(exact ? env.clock.now() == before : env.clock.now() >= before);
    XDC_EXPECT(env.clock.now() - before < seconds(30));
  });
}

TEST_CASE("members share one clock", "[clock]") {
  const auto setting = setting_of({1, 1});
  hold(setting, [](Env& env, MemberId me) {
    if (me == 0) {
      XDC_EXPECT_OK(env.store.put_if("now", std::to_string(env.clock.now().ns), kAnyRevision, nullptr, env.clock.now() + seconds(60)));
      return;
    }
    const auto entry = env.store.watch("now", 0, env.clock.now() + seconds(60));
    XDC_EXPECT_OK(entry);
    XDC_EXPECT(entry.ok() && env.clock.now().ns >= std::stoll(entry.value().value));
  });
}

TEST_CASE("lanes run side by side and hand over through signals", "[lanes]") {
  hold(setting_of({1}), [](Env& env, MemberId) {
    const auto ping = env.lanes.make_signal();
    const auto pong = env.lanes.make_signal();
    int value = 0;  // written by one lane at a time: the signals order it
    const auto deadline = env.clock.now() + seconds(60);
    const auto lane = env.lanes.spawn("other", [&] {
      for (int i = 0; i < 100; ++i) {
        XDC_EXPECT_OK(ping->wait(deadline));
        ++value;
        pong->post();
      }
    });
    for (int i = 1; i <= 100; ++i) {
      ping->post();
      XDC_EXPECT_OK(pong->wait(deadline));
      XDC_EXPECT(value == i);
    }
    lane->join();
  });
}

TEST_CASE("a signal counts its posts and a wait without one times out", "[lanes]") {
  hold(setting_of({1}), [exact = world().is_virtual_time()](Env& env, MemberId) {
    const auto signal = env.lanes.make_signal();
    const auto deadline = env.clock.now() + milliseconds(50);
    XDC_EXPECT_ERROR(ErrorCode::timeout, signal->wait(deadline));
    XDC_EXPECT(exact ? env.clock.now() == deadline : env.clock.now() >= deadline);
    XDC_EXPECT_ERROR(ErrorCode::timeout, signal->wait(TimePoint{}));
    for (int i = 0; i < 3; ++i) signal->post();
    for (int i = 0; i < 3; ++i) XDC_EXPECT_OK(signal->wait(TimePoint{}));  // posts that are there win over any deadline
    XDC_EXPECT_ERROR(ErrorCode::timeout, signal->wait(env.clock.now() + milliseconds(1)));
  });
}

TEST_CASE("join waits for the end of a lane, and lanes may start lanes", "[lanes]") {
  hold(setting_of({1}), [](Env& env, MemberId) {
    std::vector<int> order;
    const auto began = env.clock.now();
    const auto outer = env.lanes.spawn("outer", [&] {
      const auto inner = env.lanes.spawn("inner", [&] {
        env.clock.sleep_until(began + milliseconds(40));
        order.push_back(1);
      });
      inner->join();
      order.push_back(2);
    });
    outer->join();
    order.push_back(3);
    XDC_EXPECT(order == (std::vector<int>{1, 2, 3}));
    XDC_EXPECT(env.clock.now() >= began + milliseconds(40));
    const auto done = env.lanes.spawn("done", [] {});
    env.clock.sleep_until(env.clock.now() + milliseconds(20));
    done->join();  // long over
  });
}

}  // namespace xdc::contract
