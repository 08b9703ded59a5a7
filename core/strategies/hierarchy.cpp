#include "core/strategies/hierarchy.hpp"

#include <algorithm>

namespace xdc {

Hierarchy::Hierarchy(const Cluster& cluster, int lanes, MemberId self)
    : lanes_(lanes), datacenter_(cluster.members[static_cast<size_t>(self)].datacenter) {
  for (size_t d = 0; d < cluster.datacenters.size(); ++d) {
    workers_.push_back(cluster.workers_of(static_cast<int>(d)));
    XDC_CHECK(!workers_.back().empty());
  }
  local_ = {workers_[static_cast<size_t>(datacenter_)], cluster.members[static_cast<size_t>(self)].local_rank};
}

MemberId Hierarchy::speaker(int datacenter, int lane) const {
  const auto& workers = workers_[static_cast<size_t>(datacenter)];
  return workers[static_cast<size_t>(lane) % workers.size()];
}

bool Hierarchy::gathers_inside() const {
  return std::any_of(workers_.begin(), workers_.end(), [](const auto& workers) { return workers.size() > 1; });
}

std::vector<int> Hierarchy::lanes_of_self() const {
  std::vector<int> mine;
  for (int lane = local_.me; lane < lanes_; lane += local_.size()) {
    mine.push_back(lane);
  }
  return mine;
}

Reduction Hierarchy::inside(Range bucket, ControlSum own) const {
  Reduction reduction{local_, Tier::lan, deal(bucket, lanes_), {}, {}};
  for (int lane = 0; lane < lanes_; ++lane) {
    reduction.owner.push_back(lane % local_.size());
    reduction.sums.emplace_back(own);
  }
  return reduction;
}

Group Hierarchy::across(int lane) const {
  Group group;
  group.me = datacenter_;
  for (size_t d = 0; d < workers_.size(); ++d) {
    group.ranks.push_back(speaker(static_cast<int>(d), lane));
  }
  return group;
}

Reduction Hierarchy::mesh(Range shard, int lane) const {
  Reduction reduction{across(lane), Tier::wan, {}, {}, {}};
  reduction.parts = deal(shard, reduction.group.size());
  for (int d = 0; d < reduction.group.size(); ++d) {
    reduction.owner.push_back(d);
  }
  return reduction;
}

Reduction Hierarchy::allgather(Range shard, int lane) const { return {across(lane), Tier::wan, {shard}, {0}, {}}; }

RingReduction Hierarchy::ring(Range shard, int lane) const {
  RingReduction ring;
  ring.group = across(lane);
  ring.hop.assign(ring.group.ranks.size(), Tier::wan);
  ring.chunks = deal(shard, ring.group.size());
  return ring;
}

}  // namespace xdc
