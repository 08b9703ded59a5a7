// parameter_server: every worker pushes its gradient to the servers and pulls the new parameters.
//
//   mode        sync (default): a step is everyone's mean gradient, as below. async: every push is an update of its own, by its worker's
//   own
//               mean gradient, applied when its last piece has arrived and answered with the parameters after it. ssp: the same, but
//               a worker more than s steps ahead of the slowest gets its answer when it no longer is. In both, nobody's share
//               of the samples is trained by another: a run ends when all have taken their steps, and all end with the same parameters
//   steps       every bucket, once backward has finished it:
//               (a) with aggregators: reduce-scatter inside the datacenter, lane j's part added up on local rank j mod g
//               (b) push each shard's part to its server, each worker all of it or each aggregator its lane's; the server adds what it is
//                   pushed, applies the optimizer to its own elements and answers with new parameters
//               (c) with aggregators: all-gather of the new parameters inside
//   placement   one datacenter's servers hold everything; or "sharded": each datacenter's hold 1/D of the elements
//   bytes       of D datacenters of g workers and S bytes of gradient, up and down alike
//               central: g S between the servers' datacenter and each other one, S with aggregators
//               sharded: 2 g S / D for each ordered pair, 2 S / D with aggregators
//   memory      worker: gradient and pulled parameters, no optimizer state; server: its shard's parameters and optimizer
//               state, one piece of each push per bucket; undo copies on both. Error feedback: what a worker encodes, and its undo copies
//   additions   in rank order of the workers; with aggregators in rank order inside, then in the order of the topology file
//   staleness   of an update: how many others the server applied between the read that it was computed from and itself; the report counts
//   codecs      pushes by the tier between worker and server, sums inside by lan; new parameters are fp32
//   source      Li et al., "Scaling Distributed Machine Learning with the Parameter Server", OSDI 2014; a push for each machine or
//               datacenter: Hsieh et al., "Gaia", NSDI 2017; ssp: Ho et al., "More Effective Distributed ML via a Stale Synchronous
//               Parallel Parameter Server", NIPS 2013
#include "core/strategies/parameter_server.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/strategies/kinds.hpp"

namespace xdc {
namespace {

const std::string kSharded = "sharded";

const ParameterServerSpec& spec_of(const StrategyPlan& plan) { return std::get<ParameterServerSpec>(plan.spec); }

void read_mode(TableReader& table, ParameterServerSpec& spec) {
  const auto mode = table.one_of("mode", {"sync", "ssp", "async"}, "sync");
  spec.mode = mode == "ssp" ? ServerMode::ssp : mode == "async" ? ServerMode::async : ServerMode::sync;
  if (spec.mode == ServerMode::ssp) {
    if (!table.has("staleness")) {
      table.error("staleness", "is required with mode = \"ssp\": how many steps a worker may be ahead of the slowest");
    }
    spec.staleness = table.integer("staleness", 0, 1'000'000, 0);
  } else if (table.has("staleness")) {
    table.integer("staleness", 0, 1'000'000, 0);
    table.error("staleness", fmt::format("goes with mode = \"ssp\" alone; mode is \"{}\", which {}", mode,
                                         spec.mode == ServerMode::sync ? "has none" : "bounds none"));
  }
  if (spec.aggregator && spec.mode != ServerMode::sync) {
    table.error("aggregator",
                fmt::format("goes with mode = \"sync\" alone: it waits for all workers of its datacenter, and with mode = \"{}\" "
                            "none waits for another",
                            mode));
  }
}

StrategySpec read(TableReader& table, const Topology& topology) {
  ParameterServerSpec spec;
  std::vector<std::string> names;
  for (const auto& datacenter : topology.datacenters) {
    names.push_back(datacenter.name);
  }
  // A datacenter may be called so; then it is meant.
  const bool ambiguous = topology.datacenter_index(kSharded) >= 0;
  if (!ambiguous) {
    names.emplace_back(kSharded);
  }
  const auto placement = table.required_one_of("placement", names);
  spec.sharded = placement == kSharded && !ambiguous;
  spec.placement = std::max(0, topology.datacenter_index(placement));
  spec.shards = static_cast<int>(table.integer("shards", 1, 4096, 1));
  spec.aggregator = table.boolean("aggregator", false);
  read_mode(table, spec);
  return spec;
}

void add_members(const StrategySpec& any, const Topology& topology, Cluster& cluster) {
  const auto& spec = std::get<ParameterServerSpec>(any);
  for (int d = 0; d < static_cast<int>(topology.datacenters.size()); ++d) {
    if (spec.sharded || d == spec.placement) {
      add_servers(cluster, topology, d, spec.shards);
    }
  }
}

std::string mode_name(ServerMode mode) {
  switch (mode) {
    case ServerMode::sync:
      return "sync";
    case ServerMode::ssp:
      return "ssp";
    case ServerMode::async:
      return "async";
  }
  return "unknown";
}

Description describe(const StrategyPlan& plan) {
  const auto& spec = spec_of(plan);
  Description out{{"kind", "parameter_server"},
                  {"placement", spec.sharded ? kSharded : plan.cluster.datacenters[static_cast<size_t>(spec.placement)]},
                  {"shards", int64_t{spec.shards}}};
  if (spec.aggregator) out.emplace_back("aggregator", true);
  if (spec.mode != ServerMode::sync) out.emplace_back("mode", mode_name(spec.mode));
  if (spec.mode == ServerMode::ssp) out.emplace_back("staleness", spec.staleness);
  return out;
}

PairBytes payload_per_round(const StrategyPlan& plan) {
  ServerBytes bytes = server_bytes(plan);
  for (const auto& [pair, pulled] : bytes.pulled) {
    bytes.pushed[pair] += pulled;
  }
  return bytes.pushed;
}

// A server has room for what it is pushed of a bucket before it adds it up.
Holdings holdings(const StrategyPlan& plan, MemberId self) {
  if (plan.cluster.members[static_cast<size_t>(self)].role == Role::worker) {
    return {.parameters = plan.parameters, .optimizer = false};
  }
  const ServerLayout layout(plan);
  const int shard = self - plan.cluster.workers();
  Holdings held{.parameters = layout.shard(shard).count};
  if (plan.pushes_freely()) {
    // Of every worker a whole push, and the answer to it.
    held.inbox_elements = 2 * plan.cluster.workers() * held.parameters;
    held.sets = 2;
    return held;
  }
  for (const Range bucket : plan.buckets) {
    int64_t inbox = 0;
    for (const ServerPiece& piece : layout.pieces(bucket)) {
      if (piece.shard == shard) inbox += piece.range.count * static_cast<int64_t>(layout.pushers(piece.lane).size());
    }
    held.inbox_elements = std::max(held.inbox_elements, inbox);
  }
  return held;
}

// Without aggregators all of a datacenter's workers do the same; an aggregator has its lane's pieces.
std::optional<Likeness> likeness(const StrategyPlan& plan, MemberId worker) {
  Likeness like;
  if (plan.pushes_freely()) {
    return std::nullopt;  // one push is applied after another: no two are answered at once
  }
  if (!spec_of(plan).aggregator) {
    return like;
  }
  const ServerLayout layout(plan);
  const auto lanes = Hierarchy(plan.cluster, layout.lanes(), worker).lanes_of_self();
  for (const Range bucket : plan.buckets) {
    for (const ServerPiece& piece : layout.pieces(bucket)) {
      if (std::find(lanes.begin(), lanes.end(), piece.lane) != lanes.end()) {
        like.sizes.push_back(piece.shard);
        like.sizes.push_back(piece.range.count);
      }
    }
    like.sizes.push_back(-1);  // the next bucket's
  }
  return like;
}

// A shard without elements would be a server that nobody speaks to.
Status resolve(StrategyPlan& plan, const Topology& topology) {
  const auto& spec = spec_of(plan);
  const int64_t blocks = (plan.parameters + kBlock - 1) / kBlock;
  const int64_t places = spec.sharded ? static_cast<int64_t>(topology.datacenters.size()) : 1;
  if (spec.shards > blocks / places) {
    return Error{ErrorCode::invalid,
                 fmt::format("shards = {}{}, but a model of {} parameters has only {} blocks of {} to deal out; at most {} shards",
                             spec.shards, spec.sharded ? fmt::format(" in each of {} datacenters", places) : "", plan.parameters, blocks,
                             kBlock, blocks / places)};
  }
  return ok_status();
}

}  // namespace

StrategyKind parameter_server_kind() {
  return {.name = "parameter_server",
          .read = read,
          .add_members = add_members,
          .resolve = resolve,
          .describe = describe,
          .payload_per_round = payload_per_round,
          .residuals = server_residuals,
          .holdings = holdings,
          .likeness = likeness,
          .make_worker = make_parameter_server_worker,
          .make_server = make_parameter_server,
          .make_push_server = make_push_server,
          .payload_per_push = push_bytes};
}

}  // namespace xdc
