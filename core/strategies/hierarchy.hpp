// Who speaks to whom in a hierarchical exchange? Lanes: lane j's shard is reduced inside every datacenter on local rank
// j mod g, and those ranks reduce it across. Shared by every strategy that adds inside a datacenter first.
#pragma once

#include <vector>

#include "core/collectives/direct.hpp"
#include "core/collectives/ring.hpp"
#include "core/membership/cluster.hpp"

namespace xdc {

class Hierarchy {
 public:
  Hierarchy(const Cluster& cluster, int lanes, MemberId self);

  int datacenter() const { return datacenter_; }
  // My datacenter's workers, in rank order.
  const Group& local() const { return local_; }
  // Whether some datacenter has several workers: then finished sums cross a `lan` somewhere, and everyone uses them as they
  // come out of its codec, also who is alone in his datacenter.
  bool gathers_inside() const;
  // Ascending; none where the datacenter has more workers than there are lanes.
  std::vector<int> lanes_of_self() const;
  // One datacenter's worker for a lane.
  MemberId speaker(int datacenter, int lane) const;

  // Inside: one part per lane.
  Reduction inside(Range bucket, ControlSum own) const;
  // Across, one lane's shard; datacenters in the order of the topology file. `sums` are left to the caller.
  Reduction mesh(Range shard, int lane) const;
  Reduction allgather(Range shard, int lane) const;
  RingReduction ring(Range shard, int lane) const;

 private:
  Group across(int lane) const;

  int lanes_;
  int datacenter_;
  std::vector<std::vector<MemberId>> workers_;  // per datacenter
  Group local_;
};

}  // namespace xdc
