#include "sim/clock.hpp"

#include "sim/wait_point.hpp"

namespace xdc {

void SimClock::sleep_until(TimePoint t) {
  if (t <= Agenda::now()) {
    return;
  }
  WaitPoint sleeper(agenda_);
  bool due = false;
  ScopedEvent alarm(agenda_);
  alarm.set(t, [&due, &sleeper] {
    due = true;
    sleeper.wake();
  });
  sleeper.wait(
      kNoDeadline, [&] { return due; }, [] { return std::string("time to pass"); });
}

}  // namespace xdc
