// Who makes packets wait? One thread that reads all TUN devices, asks the lines on a packet's way when it has crossed them, and hands it
// over then.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "exec/emu/emulated_line.hpp"
#include "exec/emu/emulated_wan.hpp"
#include "exec/emu/tun.hpp"
#include "exec/host/steady_clock.hpp"

namespace xdc {

class Forwarder {
 public:
  // ways[from][to]: the lines that are crossed, by number, in order; none from a datacenter to itself.
  using Ways = std::vector<std::vector<std::vector<int>>>;
  // lines_of_link[i]: both directions of the topology's link i.
  struct Plan {
    std::vector<EmulatedLine> lines;
    Ways ways;
    std::vector<std::pair<int, int>> lines_of_link;
    std::vector<LineChange> changes;
  };

  Forwarder(std::vector<Tun> tuns, Plan plan);
  ~Forwarder();
  Forwarder(const Forwarder&) = delete;
  Forwarder& operator=(const Forwarder&) = delete;

  void begin_faults();
  WanAccount account() const;

 private:
  // A packet that has come to the end of `stage` lines of its way.
  struct Moving {
    TimePoint due;
    int64_t number = 0;
    int from = 0, to = 0;
    size_t stage = 0;
    Packet packet;
  };
  static bool later(const Moving& a, const Moving& b) { return a.due != b.due ? a.due > b.due : a.number > b.number; }

  void run();
  void wait();
  bool take_all_from(int datacenter);
  void move_on_due();
  void send_over(Moving moving, TimePoint now);
  void push(Moving moving);
  void hand_over(const Moving& moving, TimePoint now);
  void change_due(TimePoint now);
  std::optional<TimePoint> next_due() const;

  SteadyClock clock_;
  std::vector<Tun> tuns_;
  Plan plan_;
  int wake_ = -1;
  mutable std::mutex mutex_;  // of what follows; held while packets are moved, not while waiting
  std::vector<Moving> moving_;
  int64_t next_number_ = 0;
  size_t next_change_ = 0;
  std::optional<TimePoint> faults_from_;
  WanAccount account_;
  std::vector<int64_t> late_histogram_;  // of microseconds
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace xdc
