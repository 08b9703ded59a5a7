// Who pushes what to which parameter server? Everything about it that follows from the plan alone.
//
// Without aggregators every worker pushes each bucket's part of each shard. With them a datacenter's workers add it up first, cut into
// as many lanes as the largest datacenter has workers, and the rank that owns a lane pushes the lane's part of each shard, once.
#pragma once

#include <vector>

#include "core/strategies/hierarchy.hpp"
#include "core/strategies/strategy.hpp"

namespace xdc {

// What travels in one message, either way.
struct ServerPiece {
  int shard = 0;  // index into servers
  int lane = 0;   // 0 without aggregators
  Range range;
};

class ServerLayout {
 public:
  explicit ServerLayout(const StrategyPlan& plan);

  const std::vector<MemberId>& servers() const { return servers_; }
  int lanes() const { return lanes_; }
  // What lives on one server.
  Range shard(int server) const { return shards_[static_cast<size_t>(server)]; }
  // Those of a bucket with elements, by lane and then by shard: the order in which all of them are sent.
  std::vector<ServerPiece> pieces(Range bucket) const;
  struct Pusher {
    MemberId member = 0;
    int turn = 0;  // of the lanes that the member pushes, the how manieth this is
  };
  // Who pushes a lane's pieces and gets them back, in the order of addition: every worker, or each datacenter's aggregator.
  const std::vector<Pusher>& pushers(int lane) const { return pushers_[static_cast<size_t>(lane)]; }
  // The worker's among them; nullptr: it does not push this lane.
  const Pusher* pusher(int lane, MemberId worker) const;

 private:
  int lanes_ = 1;
  std::vector<MemberId> servers_;
  std::vector<Range> shards_;
  std::vector<std::vector<Pusher>> pushers_;  // by lane
};

// 1, or the largest datacenter's workers with aggregators.
int aggregator_lanes(const StrategyPlan& plan);

// Payload of one round between datacenters, by direction of travel.
struct ServerBytes {
  PairBytes pushed, pulled;
};
ServerBytes server_bytes(const StrategyPlan& plan);
// Of one push of one worker of the datacenter, and the answers to it. Requires no aggregators.
PairBytes push_bytes(const StrategyPlan& plan, int datacenter);

// What a worker encodes with error feedback: what it hands to its datacenter's aggregators, and what it pushes.
ResidualPlan server_residuals(const StrategyPlan& plan, MemberId self);

}  // namespace xdc
