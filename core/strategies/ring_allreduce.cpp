// ring_allreduce: one flat ring through all workers of all datacenters.
//
//   steps       every bucket, once backward has finished it: reduce-scatter along the ring, all-gather along the ring; then
//               every worker applies the optimizer to the mean
//   order       contiguous: by datacenter, so D edges cross; interleaved: the first of each datacenter, then the second of
//               each, ..., so nearly every edge crosses
//   bytes       2(N-1)/N S sent by each rank; each crossing edge carries as much
//   memory      gradient S, scratch S, undo copies of parameters and optimizer state; with error feedback residuals of partial
//               and finished sums, S in all, and their undo copies
//   additions   along the ring from each chunk's start: bits depend on bucket and chunk boundaries
//   codecs      each hop by its tier; finished sums by wan's if some hop crosses, else by lan's. No top_k: every hop encodes a sum
//   source      Patarasuk & Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", 2009
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/collectives/ring.hpp"
#include "core/strategies/kinds.hpp"

namespace xdc {
namespace {

std::vector<MemberId> ring_order(const Cluster& cluster, RingOrder order) {
  std::vector<MemberId> ring = cluster.workers_view(0).members;
  if (order == RingOrder::interleaved) {
    std::stable_sort(ring.begin(), ring.end(), [&](MemberId a, MemberId b) {
      return cluster.members[static_cast<size_t>(a)].local_rank < cluster.members[static_cast<size_t>(b)].local_rank;
    });
  }
  return ring;
}

std::vector<Tier> hop_tiers(const StrategyPlan& plan, const std::vector<MemberId>& ring) {
  std::vector<Tier> hops;
  for (size_t i = 0; i < ring.size(); ++i) {
    hops.push_back(plan.tier_between(ring[i], ring[(i + 1) % ring.size()]));
  }
  return hops;
}

RingReduction plan_ring(const StrategyPlan& plan, Range bucket) {
  RingReduction ring;
  ring.group.ranks = ring_order(plan.cluster, std::get<RingAllReduceSpec>(plan.spec).order);
  ring.hop = hop_tiers(plan, ring.group.ranks);
  ring.chunks = deal(bucket, ring.group.size());
  return ring;
}

int place_in(const Group& group, MemberId self) {
  return static_cast<int>(std::find(group.ranks.begin(), group.ranks.end(), self) - group.ranks.begin());
}

class RingAllReduce : public WorkerStrategy {
 public:
  RingAllReduce(const StrategyPlan& plan, Env& env, MemberId self)
      : plan_(plan), env_(env), self_(self), scratch_(env.device), stream_(env.device.make_stream("ring")) {}

  Yields yields() const override { return Yields::mean_gradient; }

  Status connect(const View& everyone, Deadline deadline) override {
    XDC_TRY_ASSIGN(communicator_, env_.fabric.connect(everyone, "ring", deadline));
    return ok_status();
  }

  Result<ControlSum> exchange(const WorkerRound& round) override {
    ExchangeSite site{env_.device,
                      stream_,
                      *communicator_,
                      scratch_,
                      [this](Rank r) { return plan_.cluster.describe(r); },
                      plan_.geometry(),
                      coding_of(plan_, self_, round)};
    AgreedSum total;
    for (size_t b = 0; b < plan_.buckets.size(); ++b) {
      XDC_TRY(round.wait_bucket(static_cast<int>(b)));
      scratch_.reset();
      std::array rings{plan_ring(plan_, plan_.buckets[b])};
      rings[0].group.me = place_in(rings[0].group, self_);
      rings[0].sum = round.own;
      XDC_TRY(ring_all_reduce(site, {round.round, static_cast<int>(b), round.deadline}, round.gradient, rings));
      XDC_TRY(total.meet(rings[0].sum));
    }
    return *total.value();
  }

  void abort(const Error& error) override {
    if (communicator_ != nullptr) {
      communicator_->abort(error);
    }
  }

 private:
  const StrategyPlan& plan_;
  Env& env_;
  MemberId self_;
  Scratch scratch_;
  Stream stream_;
  std::unique_ptr<Communicator> communicator_;
};

StrategySpec read(TableReader& table, const Topology&) {
  RingAllReduceSpec spec;
  spec.order =
      table.one_of("order", {"contiguous", "interleaved"}, "contiguous") == "interleaved" ? RingOrder::interleaved : RingOrder::contiguous;
  return spec;
}

Description describe(const StrategyPlan& plan) {
  const bool interleaved = std::get<RingAllReduceSpec>(plan.spec).order == RingOrder::interleaved;
  return {{"kind", "ring_allreduce"}, {"order", interleaved ? "interleaved" : "contiguous"}};
}

PairBytes payload_per_round(const StrategyPlan& plan) {
  PairBytes pairs;
  for (const Range bucket : plan.buckets) {
    const RingReduction ring = plan_ring(plan, bucket);
    const auto tier = finished_tier(ring, plan.codecs);
    const CodecSpec finished = tier ? plan.codecs.of(*tier) : CodecSpec{};
    for (int i = 0; i < ring.group.size(); ++i) {
      const auto datacenter = [&](int at) {
        return plan.cluster.members[static_cast<size_t>(ring.group.ranks[static_cast<size_t>(at % ring.group.size())])].datacenter;
      };
      if (datacenter(i) != datacenter(i + 1)) {
        pairs[{datacenter(i), datacenter(i + 1)}] +=
            ring_edge_bytes(plan.geometry(), ring.chunks, i, plan.codecs.of(ring.hop[static_cast<size_t>(i)]), finished);
      }
    }
  }
  return pairs;
}

// Each rank sends every chunk but one on as a partial sum, over its one hop, and encodes that one when it is finished.
ResidualPlan residuals(const StrategyPlan& plan, MemberId self) {
  ResidualPlan kept;
  for (const Range bucket : plan.buckets) {
    const RingReduction ring = plan_ring(plan, bucket);
    const auto n = ring.chunks.size();
    const auto me = static_cast<size_t>(place_in(ring.group, self));
    const auto finished = finished_tier(ring, plan.codecs);
    for (size_t c = 0; c < n && n > 1; ++c) {
      if (c != (me + 1) % n && plan.codecs.of(ring.hop[me]).error_feedback) {
        kept.add(ring.hop[me], Encoded::contribution, plan.geometry().real(ring.chunks[c]));
      }
      if (c == (me + 1) % n && finished && plan.codecs.of(*finished).error_feedback) {
        kept.add(*finished, Encoded::finished, plan.geometry().real(ring.chunks[c]));
      }
    }
  }
  return kept;
}

Status resolve(StrategyPlan& plan, const Topology&) {
  for (const Tier tier : {Tier::lan, Tier::wan}) {
    if (plan.codecs.of(tier).kind == CodecKind::top_k) {
      return Error{ErrorCode::invalid,
                   fmt::format("codec.{} = top_k: every hop of a ring adds and encodes the sum again, which would keep the places of one "
                               "contribution alone; top_k goes with hierarchical_allreduce (exchange = \"allgather\") and with the pushes "
                               "of parameter_server",
                               tier == Tier::lan ? "lan" : "wan")};
    }
  }
  return ok_status();
}

}  // namespace

StrategyKind ring_allreduce_kind() {
  return {.name = "ring_allreduce",
          .read = read,
          .add_members = [](const StrategySpec&, const Topology&, Cluster&) {},
          .resolve = resolve,
          .describe = describe,
          .payload_per_round = payload_per_round,
          .residuals = residuals,
          // Every rank has neighbours of its own.
          .likeness = [](const StrategyPlan&, MemberId) { return std::optional<Likeness>{}; },
          .make_worker = [](const StrategyPlan& plan, Env& env, MemberId self) -> std::unique_ptr<WorkerStrategy> {
            return std::make_unique<RingAllReduce>(plan, env, self);
          },
          .make_server = nullptr,
          .make_push_server = nullptr,
          .payload_per_push = nullptr};
}

}  // namespace xdc
