// What does one direction of a line do to what is sent over it? Rate, a bounded queue, delay, jitter, loss; on segments and times alone,
// so that it can be tested without a network.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/rng.hpp"
#include "core/base/time.hpp"

namespace xdc {

class EmulatedLine {
 public:
  struct Settings {
    std::string name;        // "beijing → shanghai"; chance is keyed by it
    double bytes_per_s = 0;  // of IP
    Duration latency;        // one way
    Duration jitter = {};    // uniform in [0, jitter), in addition to latency; order is kept
    Duration queue = {};     // what waits longer than this is dropped
    double loss = 0;         // of segments
    uint64_t seed = 0;
  };
  // What came of all that was sent. `late` is what the program itself added to delays.
  struct Account {
    int64_t segments = 0, bytes = 0;  // that went through
    int64_t lost_at_random = 0, dropped_by_queue = 0, dropped_by_fault = 0;
    Duration busy;  // serialising
  };

  explicit EmulatedLine(Settings settings);

  // Is the next segment lost at random? One draw a segment.
  bool loses_one();
  // `segments` of together `bytes`, sent at `now`: when the last of them is at the other end. nullopt: the queue is full, or the line cut.
  // Requires that `now` does not go back.
  std::optional<TimePoint> pass(TimePoint now, int segments, int64_t bytes);
  // How many segments of `bytes` each the line takes in a millisecond, at least one: larger bursts are cut, as a line would.
  int burst(int64_t bytes) const;

  // A cut line drops all that is sent; what is on its way arrives.
  void cut(bool is_cut) { cut_ = is_cut; }
  // Other figures from now on: of a degraded line, and back.
  void change(double bytes_per_s, Duration latency, double loss);

  const Settings& settings() const { return settings_; }
  const Account& account() const { return account_; }

 private:
  Settings settings_;
  RandomStream chance_;
  Account account_;
  TimePoint free_at_;     // when the last bit of what was taken has left
  TimePoint arrived_at_;  // the last arrival: order is kept
  bool cut_ = false;
};

}  // namespace xdc
