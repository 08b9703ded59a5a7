// What time is it on this machine? Nanoseconds of CLOCK_MONOTONIC since the run's origin, which all ranks of a machine share.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "core/seam/clock.hpp"

namespace xdc {

class SteadyClock final : public Clock {
 public:
  SteadyClock() : SteadyClock(monotonic_ns()) {}
  // `origin_ns`: the monotonic time that counts as 0, handed from the launcher to its ranks.
  explicit SteadyClock(int64_t origin_ns) : origin_ns_(origin_ns) {}

  TimePoint now() const override { return {monotonic_ns() - origin_ns_}; }
  void sleep_until(TimePoint t) override;

  int64_t origin_ns() const { return origin_ns_; }
  std::chrono::steady_clock::time_point at(TimePoint t) const;

  static int64_t monotonic_ns();

 private:
  int64_t origin_ns_;
};

// Further ahead than any run lasts: waited for without a limit, since adding it to a clock would overflow.
constexpr bool is_far(Deadline deadline) { return deadline.ns > kNoDeadline.ns / 2; }

// Waits for `ready` under `lock`; false when the deadline passed first. A tie goes to `ready`.
template <class Ready>
bool wait_until(const SteadyClock& clock, std::condition_variable& changed, std::unique_lock<std::mutex>& lock, Deadline deadline,
                Ready ready) {
  if (is_far(deadline)) {
    changed.wait(lock, ready);
    return true;
  }
  return changed.wait_until(lock, clock.at(deadline), ready);
}

}  // namespace xdc
