// Which worker may take its next step, where pushes are applied one by one? Stale synchronous parallel: a worker at clock c goes on if
// and only if c - min <= s, with min over the workers that still train (Ho et al., "More Effective Distributed ML via a Stale
// Synchronous Parallel Parameter Server", NIPS 2013, section 2). Asynchronous: always.
//
// A worker's clock is the step after which it stands: the last one whose push has been applied, or a later one where it has no
// samples in between. So who is exhausted holds nobody up until its next epoch, and pushes nothing.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "core/data/sample_schedule.hpp"

namespace xdc {

// The last step that a worker has taken: 0 before any, `last` once there is none left.
inline constexpr int64_t kNoLastStep = std::numeric_limits<int64_t>::max();
// The worker's first step with samples after `step`; nullopt: none up to `last` (kNoLastStep: there always is one).
std::optional<int64_t> next_push(const SampleSchedule& schedule, int worker, int64_t step, int64_t last);
// How many steps with samples it has up to `last`; kNoLastStep: as many.
int64_t pushes_until(const SampleSchedule& schedule, int worker, int64_t last);

class PushClock {
 public:
  // `staleness`: s; nullopt: no bound. `last`: the run's last step, or kNoLastStep. `schedule` outlives it.
  PushClock(const SampleSchedule& schedule, int64_t last, std::optional<int64_t> staleness);

  // The worker's next push has been applied.
  void applied(int worker);
  // It leaves before its last push.
  void ended(int worker) { next_[static_cast<size_t>(worker)].reset(); }

  bool has_ended(int worker) const { return !next_[static_cast<size_t>(worker)].has_value(); }
  bool all_ended() const;
  // Whether it may take its next step; false for one that has ended.
  bool may_go_on(int worker) const;

 private:
  int64_t clock(int worker) const { return *next_[static_cast<size_t>(worker)] - 1; }

  const SampleSchedule& schedule_;
  int64_t last_;
  std::optional<int64_t> staleness_;
  std::vector<std::optional<int64_t>> next_;  // by worker: the step of its next push
};

}  // namespace xdc
