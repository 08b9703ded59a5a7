// Which lanes are there, and what does each wait for? Read when a run is stuck and when a check fails.
#pragma once

#include <list>
#include <string>

#include "core/membership/cluster.hpp"
#include "sim/wait_point.hpp"

namespace xdc {

struct LaneEntry {
  MemberId member = 0;
  std::string name;
  // While it waits:
  const Describe* waits_for = nullptr;
  Deadline deadline = kNoDeadline;
  TimePoint since;
};

class LaneRegister {
 public:
  explicit LaneRegister(const Cluster& cluster) : cluster_(cluster) {}

  // Runs `body` in the calling actor as a lane of this register.
  void run(MemberId member, std::string name, const std::function<void()>& body);

  // Every lane with what it waits for, a line each; no more than a screen.
  std::string describe_all() const;
  // The lane that runs now: "beijing rank 3, lane main".
  std::string describe_current() const;
  // nullptr outside of lanes.
  static LaneEntry* current();

 private:
  const Cluster& cluster_;
  std::list<LaneEntry> lanes_;
};

// Stands while the current lane waits.
class WaitingLane {
 public:
  WaitingLane(const Describe& describe, Deadline deadline);
  ~WaitingLane();
  WaitingLane(const WaitingLane&) = delete;
  WaitingLane& operator=(const WaitingLane&) = delete;

 private:
  LaneEntry* lane_;
};

}  // namespace xdc
