#include "core/strategies/parameter_server_layout.hpp"

#include <algorithm>

namespace xdc {
namespace {

const ParameterServerSpec& spec_of(const StrategyPlan& plan) { return std::get<ParameterServerSpec>(plan.spec); }

}  // namespace

int aggregator_lanes(const StrategyPlan& plan) {
  size_t lanes = 1;
  for (size_t d = 0; d < plan.cluster.datacenters.size() && spec_of(plan).aggregator; ++d) {
    lanes = std::max(lanes, plan.cluster.workers_of(static_cast<int>(d)).size());
  }
  return static_cast<int>(lanes);
}

ServerLayout::ServerLayout(const StrategyPlan& plan) : lanes_(aggregator_lanes(plan)), servers_(plan.cluster.servers()) {
  const auto& spec = spec_of(plan);
  const int places = spec.sharded ? static_cast<int>(plan.cluster.datacenters.size()) : 1;
  for (const Range place : deal({0, plan.parameters}, places)) {
    for (const Range shard : deal(place, spec.shards)) {
      shards_.push_back(shard);
    }
  }
  XDC_CHECK(shards_.size() == servers_.size());
  if (!spec.aggregator) {
    auto& everyone = pushers_.emplace_back();
    for (const MemberId worker : plan.cluster.workers_view(0).members) {
      everyone.push_back({worker, 0});
    }
    return;
  }
  const Hierarchy hierarchy(plan.cluster, lanes_, 0);
  std::vector<int> workers;
  for (size_t d = 0; d < plan.cluster.datacenters.size(); ++d) {
    workers.push_back(static_cast<int>(plan.cluster.workers_of(static_cast<int>(d)).size()));
  }
  for (int lane = 0; lane < lanes_; ++lane) {
    auto& pushers = pushers_.emplace_back();
    for (size_t d = 0; d < workers.size(); ++d) {
      pushers.push_back({hierarchy.speaker(static_cast<int>(d), lane), lane / workers[d]});
    }
  }
}

const ServerLayout::Pusher* ServerLayout::pusher(int lane, MemberId worker) const {
  const auto& all = pushers(lane);
  // Ascending: in rank order, or one of each datacenter in turn.
  const auto found = std::lower_bound(all.begin(), all.end(), worker, [](const Pusher& pusher, MemberId id) { return pusher.member < id; });
  return found == all.end() || found->member != worker ? nullptr : &*found;
}

std::vector<ServerPiece> ServerLayout::pieces(Range bucket) const {
  std::vector<ServerPiece> pieces;
  const auto parts = deal(bucket, lanes_);
  pieces.reserve(parts.size() + shards_.size());
  // Shards tile the buffer in order, and so do parts: each goes on at the shard where the one before it ended.
  auto s = std::upper_bound(shards_.begin(), shards_.end(), bucket.begin, [](int64_t at, Range shard) { return at < shard.end(); });
  for (int lane = 0; lane < lanes_; ++lane) {
    const Range part = parts[static_cast<size_t>(lane)];
    while (part.count > 0 && s != shards_.end() && s->begin < part.end()) {
      pieces.push_back({static_cast<int>(s - shards_.begin()), lane, intersection(part, *s)});
      if (s->end() > part.end()) break;
      ++s;
    }
  }
  return pieces;
}

// Piece by piece: of each one top_k sends a whole number of elements.
ServerBytes server_bytes(const StrategyPlan& plan) {
  const int datacenters = static_cast<int>(plan.cluster.datacenters.size());
  const int lanes = aggregator_lanes(plan);
  const auto places = spec_of(plan).sharded ? deal({0, plan.parameters}, datacenters) : std::vector<Range>{{0, plan.parameters}};
  ServerBytes bytes;
  for (size_t place = 0; place < places.size(); ++place) {
    const int home = spec_of(plan).sharded ? static_cast<int>(place) : spec_of(plan).placement;
    int64_t pushed = 0, pulled = 0;
    for (const Range shard : deal(places[place], spec_of(plan).shards)) {
      for (const Range bucket : plan.buckets) {
        for (const Range lane : deal(bucket, lanes)) {
          pushed += plan.geometry().wire_bytes(plan.codecs.wan, intersection(lane, shard));
          pulled += plan.geometry().wire_bytes({}, intersection(lane, shard));
        }
      }
    }
    for (int away = 0; away < datacenters; ++away) {
      const auto workers = static_cast<int64_t>(plan.cluster.workers_of(away).size());
      const int64_t copies = spec_of(plan).aggregator ? std::min<int64_t>(workers, 1) : workers;
      if (away != home && copies > 0) {
        bytes.pushed[{away, home}] += copies * pushed;
        bytes.pulled[{home, away}] += copies * pulled;
      }
    }
  }
  return bytes;
}

PairBytes push_bytes(const StrategyPlan& plan, int datacenter) {
  // All of a datacenter's workers do the same.
  const auto workers = static_cast<int64_t>(plan.cluster.workers_of(datacenter).size());
  const ServerBytes all = server_bytes(plan);
  PairBytes one;
  for (const auto& [pair, bytes] : all.pushed) {
    if (pair.first == datacenter) {
      one[pair] += bytes / workers;
    }
  }
  for (const auto& [pair, bytes] : all.pulled) {
    if (pair.second == datacenter) {
      one[pair] += bytes / workers;
    }
  }
  return one;
}

ResidualPlan server_residuals(const StrategyPlan& plan, MemberId self) {
  ResidualPlan kept;
  const ServerLayout layout(plan);
  const auto& geometry = plan.geometry();
  const Hierarchy hierarchy(plan.cluster, layout.lanes(), self);
  for (const Range bucket : plan.buckets) {
    const Reduction inside = hierarchy.inside(bucket, {});
    for (size_t p = 0; p < inside.parts.size() && spec_of(plan).aggregator && plan.codecs.lan.error_feedback; ++p) {
      if (inside.owner[p] != inside.group.me) {
        kept.add(Tier::lan, Encoded::contribution, geometry.real(inside.parts[p]));
      }
    }
    for (const ServerPiece& piece : layout.pieces(bucket)) {
      const Tier tier = plan.tier_between(self, layout.servers()[static_cast<size_t>(piece.shard)]);
      if (plan.codecs.of(tier).error_feedback && layout.pusher(piece.lane, self) != nullptr) {
        kept.add(tier, Encoded::contribution, geometry.real(piece.range));
      }
    }
  }
  return kept;
}

}  // namespace xdc
