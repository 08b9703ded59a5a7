#include "exec/cuda/poll.hpp"

#include <algorithm>

namespace xdc {

Status poll_until(Clock& clock, Deadline deadline, const std::function<Result<bool>()>& done) {
  constexpr int kAsksWithoutPause = 64;
  constexpr Duration kFirstPause = nanoseconds(5'000);
  constexpr Duration kLongestPause = nanoseconds(200'000);

  Duration pause = kFirstPause;
  for (int asked = 0;; ++asked) {
    // Read before asking: an answer given after the deadline is then still an answer.
    const TimePoint now = clock.now();
    XDC_TRY_ASSIGN(const bool finished, done());
    if (finished) {
      return ok_status();
    }
    if (now >= deadline) {
      return Error{ErrorCode::timeout, "the deadline passed first"};
    }
    if (asked >= kAsksWithoutPause) {
      clock.sleep_until(std::min(now + pause, deadline));
      pause = std::min(pause * 2, kLongestPause);
    }
  }
}

}  // namespace xdc
