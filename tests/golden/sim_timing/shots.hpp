// What do all tests of simulated times share? Sending, and saying to the nanosecond when something happened.
#pragma once

#include <string>
#include <vector>

#include "tests/contract/world.hpp"

namespace xdc::contract {

inline constexpr double kGigabit = 125e6;  // bytes per second

inline WorkPtr send(Communicator& communicator, Rank to, int64_t bytes) {
  return communicator.isend(to, {}, {}, {bytes, Traffic::payload});
}

inline TimePoint finish_time(Env& env, Communicator& communicator, const WorkPtr& work) {
  Work* const works[] = {work.get()};
  XDC_EXPECT_OK(communicator.wait_any(works, kNoDeadline));
  return env.clock.now();
}

inline TimePoint arrival(Env& env, Communicator& communicator, Rank from) {
  ControlWords control;
  return finish_time(env, communicator, communicator.irecv(from, &control, {}));
}

inline std::unique_ptr<Communicator> connect(Env& env, const View& view, std::string_view purpose = "times") {
  return env.fabric.connect(view, purpose, kNoDeadline).value();
}

inline void expect_at(TimePoint got, int64_t ns, int line) {
  expect(got.ns == ns, "at " + std::to_string(ns) + " ns", "it was " + std::to_string(got.ns), __FILE__, line);
}
#define EXPECT_AT(time, ns) expect_at(time, ns, __LINE__)

// One message per entry; every sender starts at zero, every receiver notes the time of its one arrival.
struct Shot {
  Rank from, to;
  int64_t bytes, arrives_ns;
};
inline void shoot(const Setting& setting, const std::vector<Shot>& shots) {
  hold(setting, [&, view = setting.cluster.everyone(1)](Env& env, MemberId me) {
    const auto communicator = connect(env, view);
    std::vector<WorkPtr> sends;
    for (const auto& shot : shots) {
      if (shot.from == me) sends.push_back(send(*communicator, shot.to, shot.bytes));
    }
    for (const auto& shot : shots) {
      if (shot.to == me) EXPECT_AT(arrival(env, *communicator, shot.from), shot.arrives_ns);
    }
    for (const auto& work : sends) finish_time(env, *communicator, work);
  });
}

}  // namespace xdc::contract
