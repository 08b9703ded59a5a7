// hierarchical_allreduce: add inside each datacenter first, so that every sum crosses the line between datacenters once.
//
//   steps       every bucket, once backward has finished it:
//               (a) reduce-scatter inside the datacenter: lane j's shard is added up on local rank j mod g, in rank order
//               (b) lane j of every datacenter adds its shard across datacenters: exchange ring, mesh or allgather
//               (c) all-gather inside the datacenter
//               then every worker applies the optimizer to the mean
//   lanes       L = the largest g, or 1: the leader form, where one rank of each datacenter speaks for it
//   bytes       per ordered pair of D datacenters and gradient of S bytes: ring 2(D-1)/D S on ring edges, mesh 2S/D,
//               allgather S; inside, 2(g-1)/g S sent by each rank
//   memory      gradient S, scratch at most D S / L beside it, undo copies of parameters and optimizer state; residuals of what
//               is encoded with error feedback: inside S, across S / L for each lane, and their undo copies
//   additions   inside in rank order, across in the order of the topology file; exchange ring: along the ring of datacenters
//   codecs      lan in (a) and (c), wan in (b). top_k on wan alone, and only by allgather: everywhere else a sum would be encoded
//               again, and keep the places of one
//   source      Thakur et al. 2005 for the phases; Goyal et al. 2017 (1706.02677), section 4, for the hierarchy
#include <fmt/format.h>

#include <algorithm>

#include "core/collectives/direct.hpp"
#include "core/collectives/line_bytes.hpp"
#include "core/collectives/ring.hpp"
#include "core/strategies/hierarchy.hpp"
#include "core/strategies/inside.hpp"
#include "core/strategies/kinds.hpp"

namespace xdc {
namespace {

// local_sgd averages in the same way.
const HierarchicalAllReduceSpec& spec_of(const StrategyPlan& plan) {
  return plan.trains_locally() ? std::get<LocalSgdSpec>(plan.spec).averaging : std::get<HierarchicalAllReduceSpec>(plan.spec);
}
HierarchicalAllReduceSpec& spec_of(StrategyPlan& plan) {
  return plan.trains_locally() ? std::get<LocalSgdSpec>(plan.spec).averaging : std::get<HierarchicalAllReduceSpec>(plan.spec);
}

class HierarchicalAllReduce : public WorkerStrategy {
 public:
  HierarchicalAllReduce(const StrategyPlan& plan, Env& env, MemberId self)
      : plan_(plan),
        env_(env),
        self_(self),
        hierarchy_(plan.cluster, spec_of(plan).lanes, self),
        inside_(plan, env, hierarchy_),
        scratch_(env.device),
        stream_(env.device.make_stream("hierarchical")) {}

  Yields yields() const override { return Yields::mean_gradient; }

  Status connect(const View& everyone, Deadline deadline) override {
    XDC_TRY_ASSIGN(communicator_, env_.fabric.connect(everyone, "hierarchical", deadline));
    return inside_.connect(everyone, "hierarchical inside", deadline);
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
      XDC_TRY_ASSIGN(const ControlSum sum, exchange_bucket(site, round, static_cast<int>(b)));
      XDC_TRY(total.meet(sum));
    }
    return *total.value();
  }

  void abort(const Error& error) override {
    if (communicator_ != nullptr) {
      communicator_->abort(error);
    }
    inside_.abort(error);
  }

 private:
  Result<ControlSum> exchange_bucket(ExchangeSite& site, const WorkerRound& round, int bucket) {
    const ExchangeCall call{round.round, bucket, round.deadline};
    Reduction inside = hierarchy_.inside(plan_.buckets[static_cast<size_t>(bucket)], round.own);
    XDC_TRY(inside_.reduce_scatter(site, call, round.gradient, round.own, inside));
    XDC_TRY(across(site, call, round.gradient, inside));
    XDC_TRY(inside_.all_gather(site, call, round.gradient, inside));
    AgreedSum total;
    for (const auto& sum : inside.sums) {
      XDC_TRY(total.meet(sum));
    }
    return *total.value();
  }

  // (b): my lanes, all at once.
  Status across(ExchangeSite& site, const ExchangeCall& call, Tensor gradient, Reduction& inside) {
    if (plan_.cluster.datacenters.size() < 2) {
      return ok_status();
    }
    const auto lanes = hierarchy_.lanes_of_self();
    if (spec_of(plan_).exchange == Exchange::ring) {
      std::vector<RingReduction> rings;
      for (const int lane : lanes) {
        rings.push_back(hierarchy_.ring(inside.parts[static_cast<size_t>(lane)], lane));
        rings.back().sum = inside.sums[static_cast<size_t>(lane)].value_or(ControlSum{});
      }
      XDC_TRY(ring_all_reduce(site, call, gradient, rings));
      for (size_t i = 0; i < lanes.size(); ++i) {
        inside.sums[static_cast<size_t>(lanes[i])] = rings[i].sum;
      }
      return ok_status();
    }
    std::vector<Reduction> reductions;
    const bool mesh = spec_of(plan_).exchange == Exchange::mesh;
    for (const int lane : lanes) {
      const Range shard = inside.parts[static_cast<size_t>(lane)];
      reductions.push_back(mesh ? hierarchy_.mesh(shard, lane) : hierarchy_.allgather(shard, lane));
      reductions.back().sums.assign(reductions.back().parts.size(), inside.sums[static_cast<size_t>(lane)]);
    }
    if (mesh) {
      XDC_TRY(direct_reduce_scatter(site, call, gradient, reductions));
      XDC_TRY(direct_all_gather(site, call, gradient, reductions));
    } else {
      XDC_TRY(all_gather_sum(site, call, gradient, reductions));
    }
    for (size_t i = 0; i < lanes.size(); ++i) {
      auto& sum = inside.sums[static_cast<size_t>(lanes[i])];
      sum.reset();
      for (const auto& part : reductions[i].sums) {
        sum = part ? part : sum;
      }
    }
    return ok_status();
  }

  const StrategyPlan& plan_;
  Env& env_;
  MemberId self_;
  Hierarchy hierarchy_;
  InsideExchange inside_;
  Scratch scratch_;
  Stream stream_;
  std::unique_ptr<Communicator> communicator_;
};

StrategySpec read(TableReader& table, const Topology& topology) {
  HierarchicalAllReduceSpec spec;
  int largest = 1;
  for (const auto& datacenter : topology.datacenters) {
    largest = std::max(largest, datacenter.devices());
  }
  spec.lanes = static_cast<int>(table.integer("lanes", 1, largest, largest));
  const auto exchange = table.one_of("exchange", {"auto", "ring", "mesh", "allgather"}, "auto");
  spec.exchange_was_auto = exchange == "auto";
  spec.exchange = exchange == "ring" ? Exchange::ring : exchange == "allgather" ? Exchange::allgather : Exchange::mesh;
  return spec;
}

const char* exchange_name(Exchange exchange) {
  return exchange == Exchange::ring ? "ring" : exchange == Exchange::mesh ? "mesh" : "allgather";
}

Description describe(const StrategyPlan& plan) {
  const auto& spec = spec_of(plan);
  return {{"kind", "hierarchical_allreduce"},
          {"lanes", int64_t{spec.lanes}},
          {"exchange", exchange_name(spec.exchange)},
          {"exchange_was_auto", spec.exchange_was_auto}};
}

PairBytes payload_per_round(const StrategyPlan& plan) {
  const int datacenters = static_cast<int>(plan.cluster.datacenters.size());
  PairBytes pairs;
  for (const Range bucket : plan.buckets) {
    for (const Range shard : deal(bucket, spec_of(plan).lanes)) {
      const auto parts = deal(shard, datacenters);
      for (int a = 0; a < datacenters; ++a) {
        for (int b = 0; b < datacenters; ++b) {
          int64_t bytes = 0;
          if (a != b && spec_of(plan).exchange == Exchange::mesh) {
            bytes = mesh_pair_bytes(plan.geometry(), parts, a, b, plan.codecs.wan);
          } else if (a != b && spec_of(plan).exchange == Exchange::allgather) {
            bytes = allgather_pair_bytes(plan.geometry(), shard, plan.codecs.wan);
          } else if (b == (a + 1) % datacenters && a != b) {
            bytes = ring_edge_bytes(plan.geometry(), parts, a, plan.codecs.wan, plan.codecs.wan);
          }
          if (bytes > 0) {
            pairs[{a, b}] += bytes;
          }
        }
      }
    }
  }
  return pairs;
}

ResidualPlan residuals(const StrategyPlan& plan, MemberId self) {
  const Hierarchy hierarchy(plan.cluster, spec_of(plan).lanes, self);
  const Exchange exchange = spec_of(plan).exchange;
  const Geometry geometry = plan.geometry();
  const auto what = [](bool mine) { return mine ? Encoded::finished : Encoded::contribution; };
  ResidualPlan kept;
  for (const Range bucket : plan.buckets) {
    const Reduction inside = hierarchy.inside(bucket, {});
    for (size_t p = 0; p < inside.parts.size() && plan.codecs.lan.error_feedback && hierarchy.gathers_inside(); ++p) {
      kept.add(Tier::lan, what(inside.owner[p] == inside.group.me), geometry.real(inside.parts[p]));
    }
    if (!plan.codecs.wan.error_feedback || plan.cluster.datacenters.size() < 2) {
      continue;
    }
    for (const int lane : hierarchy.lanes_of_self()) {
      const Range shard = inside.parts[static_cast<size_t>(lane)];
      if (exchange == Exchange::allgather) {
        kept.add(Tier::wan, Encoded::contribution, geometry.real(shard));
        continue;
      }
      // A ring finishes a chunk at the datacenter before the one that began it.
      const auto parts = deal(shard, static_cast<int>(plan.cluster.datacenters.size()));
      const size_t mine = (static_cast<size_t>(hierarchy.datacenter()) + (exchange == Exchange::ring ? 1 : 0)) % parts.size();
      for (size_t p = 0; p < parts.size(); ++p) {
        kept.add(Tier::wan, what(p == mine), geometry.real(parts[p]));
      }
    }
  }
  return kept;
}

// The parts of its lanes, by their sizes; all else is the same for every rank of a datacenter.
std::optional<Likeness> likeness(const StrategyPlan& plan, MemberId worker) {
  const Hierarchy hierarchy(plan.cluster, spec_of(plan).lanes, worker);
  Likeness like{{}, plan.cluster.datacenters.size() > 1};
  for (const Range bucket : plan.buckets) {
    const auto shards = deal(bucket, spec_of(plan).lanes);
    for (const int lane : hierarchy.lanes_of_self()) {
      like.sizes.push_back(shards[static_cast<size_t>(lane)].count);
    }
  }
  return like;
}

// Seconds one exchange takes on the lines alone: the messages one after another that latency is paid for, and the busiest
// line's bytes at its rate, or a pair's at that of its lanes' connections where windows make them slower.
double exchange_seconds(const StrategyPlan& plan, const Topology& topology) {
  const int datacenters = static_cast<int>(topology.datacenters.size());
  const PairBytes pairs = payload_per_round(plan);
  double latency = 0;
  for (const auto& [pair, bytes] : pairs) {
    const auto route = find_route(topology, pair.first, pair.second);
    latency = std::max(latency, to_seconds(route->latency));
  }
  const int messages = spec_of(plan).exchange == Exchange::ring ? 2 * (datacenters - 1) : spec_of(plan).exchange == Exchange::mesh ? 2 : 1;
  const double bytes_s = std::max(busiest_line_seconds(topology, pairs), slowest_pair_seconds(topology, pairs, spec_of(plan).lanes));
  return bytes_s + latency * messages * static_cast<double>(plan.buckets.size());
}

Status resolve(StrategyPlan& plan, const Topology& topology) {
  auto& spec = spec_of(plan);
  if (plan.codecs.lan.kind == CodecKind::top_k) {
    return Error{ErrorCode::invalid,
                 "codec.lan = top_k: inside a datacenter sums are handed on, and a sum of several ranks' largest elements has other places "
                 "than each of theirs; top_k travels between datacenters only (codec.wan)"};
  }
  const bool only_allgather = plan.codecs.wan.kind == CodecKind::top_k;
  if (only_allgather && !spec.exchange_was_auto && spec.exchange != Exchange::allgather) {
    return Error{ErrorCode::invalid,
                 fmt::format("codec.wan = top_k with exchange = \"{}\": there a sum is encoded again, and would keep the places of one "
                             "contribution alone; top_k travels by exchange = \"allgather\", which \"auto\" picks",
                             exchange_name(spec.exchange))};
  }
  if (only_allgather) {
    spec.exchange = Exchange::allgather;
  }
  if (only_allgather || !spec.exchange_was_auto || topology.datacenters.size() < 2) {
    return ok_status();
  }
  Exchange best = spec.exchange;
  double least = 0;
  // A tie goes to the first: mesh spreads the additions, and depends on no ring order.
  for (const Exchange exchange : {Exchange::mesh, Exchange::allgather, Exchange::ring}) {
    spec.exchange = exchange;
    const double seconds = exchange_seconds(plan, topology);
    if (exchange == Exchange::mesh || seconds < least) {
      best = exchange;
      least = seconds;
    }
  }
  spec.exchange = best;
  return ok_status();
}

}  // namespace

StrategyKind hierarchical_allreduce_kind() {
  return {.name = "hierarchical_allreduce",
          .read = read,
          .add_members = [](const StrategySpec&, const Topology&, Cluster&) {},
          .resolve = resolve,
          .describe = describe,
          .payload_per_round = payload_per_round,
          .residuals = residuals,
          .likeness = likeness,
          .make_worker = [](const StrategyPlan& plan, Env& env, MemberId self) -> std::unique_ptr<WorkerStrategy> {
            return std::make_unique<HierarchicalAllReduce>(plan, env, self);
          },
          .make_server = nullptr,
          .make_push_server = nullptr,
          .payload_per_push = nullptr};
}

}  // namespace xdc
