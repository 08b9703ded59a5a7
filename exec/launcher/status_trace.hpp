// How does a rank tell its launcher how far it is? Its steps as they end, its traffic a few times a second.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "core/membership/cluster.hpp"
#include "core/seam/fabric.hpp"
#include "core/seam/trace.hpp"
#include "exec/host/steady_clock.hpp"
#include "exec/launcher/status_record.hpp"

namespace xdc {

// Passes events on, and writes StatusRecords to a pipe. One that is full is passed over: traffic is told again, and the launcher reads
// faster than steps fill it. All borrowed.
class StatusTrace final : public Trace {
 public:
  StatusTrace(Trace& next, int fd, MemberId self) : next_(next), fd_(fd), self_(self) {}
  void record(TimePoint time, int64_t step, std::string_view event, std::initializer_list<TraceField> fields) override;

 private:
  Trace& next_;
  const int fd_;
  const MemberId self_;
};

// Tells of what the member has sent to other datacenters while it lives, and for the last time at its end.
class TrafficTeller {
 public:
  TrafficTeller(const Fabric& fabric, const Cluster& cluster, MemberId self, const SteadyClock& clock, int fd);
  ~TrafficTeller();
  TrafficTeller(const TrafficTeller&) = delete;
  TrafficTeller& operator=(const TrafficTeller&) = delete;

 private:
  void tell() const;

  const Fabric& fabric_;
  const Cluster& cluster_;
  const MemberId self_;
  const SteadyClock& clock_;
  const int fd_;
  std::mutex mutex_;
  std::condition_variable ending_;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace xdc
