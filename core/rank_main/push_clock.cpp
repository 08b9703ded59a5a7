#include "core/rank_main/push_clock.hpp"

#include <algorithm>

namespace xdc {

std::optional<int64_t> next_push(const SampleSchedule& schedule, int worker, int64_t step, int64_t last) {
  while (step < last) {
    ++step;
    if (schedule.samples(worker, step) > 0) {
      return step;
    }
  }
  return std::nullopt;
}

int64_t pushes_until(const SampleSchedule& schedule, int worker, int64_t last) {
  if (last == kNoLastStep) {
    return last;
  }
  int64_t pushes = 0;
  for (int64_t step = 1; step <= last; ++step) {
    pushes += schedule.samples(worker, step) > 0 ? 1 : 0;
  }
  return pushes;
}

PushClock::PushClock(const SampleSchedule& schedule, int64_t last, std::optional<int64_t> staleness)
    : schedule_(schedule), last_(last), staleness_(staleness) {
  for (int worker = 0; worker < schedule.ranks(); ++worker) {
    next_.push_back(next_push(schedule, worker, 0, last));
  }
}

void PushClock::applied(int worker) {
  auto& next = next_[static_cast<size_t>(worker)];
  next = next_push(schedule_, worker, *next, last_);
}

bool PushClock::all_ended() const {
  return std::none_of(next_.begin(), next_.end(), [](const auto& next) { return next.has_value(); });
}

bool PushClock::may_go_on(int worker) const {
  if (has_ended(worker)) {
    return false;
  }
  if (!staleness_) {
    return true;
  }
  int64_t least = clock(worker);
  for (int other = 0; other < schedule_.ranks(); ++other) {
    if (!has_ended(other)) {
      least = std::min(least, clock(other));
    }
  }
  return clock(worker) - least <= *staleness_;
}

}  // namespace xdc
