// How far is the run, as far as the ranks started here can tell? What they say, added up. Pure: time is told to it.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/time.hpp"
#include "core/membership/cluster.hpp"
#include "exec/launcher/status_record.hpp"

namespace xdc {

class RunStatus {
 public:
  // What is known before anything is said.
  struct Setting {
    std::string variant;
    Cluster cluster;
    std::vector<MemberId> here;  // the members that are started here
    int64_t steps = 0;           // planned; 0: the run ends by time
    std::optional<Duration> time = {};
    // Ordered pair of datacenters -> the lines that its messages cross, as in a report.
    std::map<std::pair<int, int>, std::vector<std::pair<int, int>>> routes = {};
  };
  struct Rank {
    int datacenter = 0;
    bool worker = true;
    bool alive = false;
    int64_t steps = 0, step = 0, samples = 0;  // taken, the last one's number, of all of them
  };
  // One direction between two datacenters; what members here have sent over it.
  struct Line {
    int64_t payload_bytes = 0, wire_bytes = 0;
    std::optional<double> wire_bytes_per_s;  // lately
  };

  explicit RunStatus(Setting setting);

  void set_alive(MemberId member, bool alive) { ranks_.at(member).alive = alive; }
  void take(const StatusRecord& record);
  // It is now so late; what is "lately" is counted from there.
  void tick(TimePoint now);

  const Setting& setting() const { return setting_; }
  const std::map<MemberId, Rank>& ranks() const { return ranks_; }  // those here
  const std::map<std::pair<int, int>, Line>& lines() const { return lines_; }
  int workers_here() const { return workers_here_; }
  bool everyone_is_here() const { return workers_here_ == setting_.cluster.workers(); }

  // The last step that every worker here has taken.
  int64_t step() const;
  // Of the last step that every worker here has told of: the sum of their parts. With everyone here that is the loss.
  std::optional<double> loss() const { return loss_; }
  int64_t loss_step() const { return loss_step_; }
  // 0 to 1.
  double part() const;
  std::optional<double> samples_per_s() const;  // lately, of the workers here
  std::optional<Duration> left() const;

 private:
  // What a moment looked like.
  struct Moment {
    TimePoint time;
    int64_t samples = 0;
    std::vector<int64_t> wire_bytes;  // by line
  };
  struct Parts {
    int told = 0;
    double sum = 0;
  };
  void take_step(Rank& rank, const StatusRecord& record);
  void forget(TimePoint now);
  int64_t samples() const;

  const Setting setting_;
  int workers_here_ = 0;
  std::map<MemberId, Rank> ranks_;
  std::map<std::pair<int, int>, Line> lines_;
  std::map<std::pair<MemberId, int64_t>, StatusRecord> traffic_;  // by member and datacenter: the latest
  std::map<int64_t, Parts> parts_;                                // by step: not yet told of by all
  std::optional<double> loss_;
  int64_t loss_step_ = 0;
  std::deque<Moment> moments_;
  std::optional<std::pair<TimePoint, int64_t>> first_step_;  // when all had taken one, and which
  TimePoint now_;
};

// "ring  step 12/500  loss 0.231  1,920 samples/s  12 s left  office → branch 1.2 MB/s", at most `width` columns; `before` stands in front.
// What does not fit is left out from the end; of lines it is said how many. Lines that have carried nothing are left out. Where others
// start the rest of the ranks, what is known here alone is said to be that.
std::string status_line(const RunStatus& status, const std::string& before, int width);

}  // namespace xdc
