#include "sim/wait_point.hpp"

#include "sim/lane_register.hpp"

namespace xdc {

bool WaitPoint::wait(Deadline deadline, FunctionRef<bool()> ready, Describe describe) {
  if (ready()) {
    return true;
  }
  ScopedEvent alarm(agenda_);
  bool expired = false;
  while (deadline >= Agenda::now() && !expired) {
    if (deadline != kNoDeadline && !alarm.pending()) {
      // When the deadline has come, one more event for the same moment: it runs after all that lanes still do in it.
      const bool last = deadline <= Agenda::now();
      alarm.set(deadline, [this, &expired, last] {
        expired = last;
        wake();
      });
    }
    park(describe, deadline);
    if (ready()) {
      return true;
    }
  }
  return false;
}

void WaitPoint::park(Describe describe, Deadline deadline) {
  XDC_CHECK_MSG(!state_->parked, "two lanes wait at one place");
  const WaitingLane waiting(describe, deadline);
  // A lane that is killed here leaves the place free for the next one.
  struct Parked {
    std::shared_ptr<State> state;
    explicit Parked(std::shared_ptr<State> s) : state(std::move(s)) { state->parked = true; }
    ~Parked() { state->parked = false; }
  } const here(state_);
  here.state->woken = false;
  here.state->semaphore->acquire();
}

void WaitPoint::wake() {
  if (state_->parked && !state_->woken) {
    state_->woken = true;
    // A copy: the woken lane may destroy this place before the call returns.
    const auto semaphore = state_->semaphore;
    semaphore->release();
  }
}

}  // namespace xdc
