// What happens when, in virtual time? Events of ours at whole nanoseconds, in order of time and then of insertion.
//
// SimGrid counts seconds in double precision; ours is the nearest nanosecond. Up to kHorizon a nanosecond survives the way to
// seconds and back, so an event planned for t runs at now() == t, and two ways to the same t meet in the same event round.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "core/base/time.hpp"
#include "sim/compat.hpp"

namespace xdc {

inline constexpr TimePoint kHorizon{2'000'000'000'000'000};  // 23 days; below 2^51 ns

class Agenda {
 public:
  using Action = std::function<void()>;
  using Entry = std::pair<int64_t, uint64_t>;  // time, sequence

  static TimePoint now();
  static double seconds_of(TimePoint t);

  // Runs `action` outside all lanes, at t or, if that is past, now. From a lane's code, an action for now runs after
  // everything that lanes do at this moment. `t` behind the horizon ends the run when the time comes.
  Entry at(TimePoint t, Action action);
  void cancel(Entry entry) { entries_.erase(entry); }

 private:
  void arm();
  void fire();

  std::map<Entry, Action> entries_;
  uint64_t sequence_ = 0;
  sg::Timer* alarm_ = nullptr;  // SimGrid's timer for the first entry
  int64_t alarm_ns_ = 0;
  bool firing_ = false;
};

// An event that leaves the agenda with its scope, also when the lane that waits for it is killed.
class ScopedEvent {
 public:
  explicit ScopedEvent(Agenda& agenda) : agenda_(agenda) {}
  ~ScopedEvent() {
    if (pending_) agenda_.cancel(entry_);
  }
  ScopedEvent(const ScopedEvent&) = delete;
  ScopedEvent& operator=(const ScopedEvent&) = delete;

  bool pending() const { return pending_; }
  template <class Action>
  void set(TimePoint t, Action action) {
    pending_ = true;
    entry_ = agenda_.at(t, [this, action] {
      pending_ = false;
      action();
    });
  }

 private:
  Agenda& agenda_;
  Agenda::Entry entry_;
  bool pending_ = false;
};

}  // namespace xdc
