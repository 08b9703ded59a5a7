// parameter_server: every worker pushes its gradient to the servers and pulls the new parameters. Synchronous.
//
//   steps       every bucket, once backward has finished it: push each shard's piece to its server; the server adds the
//               workers' pieces in rank order, applies the optimizer to its own elements and answers with new parameters
//   bytes       g S up and g S down between the servers' datacenter and each other one of g workers
//   memory      worker: gradient and pulled parameters, no optimizer state; server: its shard's parameters and optimizer
//               state, one piece of each worker's gradient per bucket; undo copies on both. Error feedback: the worker's
//               residuals, S, and their undo copies
//   additions   in rank order of the workers
//   codecs      pushes, by the tier between worker and server; pulls are fp32
//   source      Li et al., "Scaling Distributed Machine Learning with the Parameter Server", OSDI 2014
#include <fmt/format.h>

#include <algorithm>

#include "core/strategies/kinds.hpp"

namespace xdc {
namespace {

Range shard_range(const StrategyPlan& plan, int shard) {
  return deal({0, plan.parameters}, std::get<ParameterServerSpec>(plan.spec).shards)[static_cast<size_t>(shard)];
}

// The part of a bucket that lives on one shard; may be empty.
Range piece(const StrategyPlan& plan, size_t bucket, int shard) { return intersection(plan.buckets[bucket], shard_range(plan, shard)); }

std::function<std::string(Rank)> describer(const StrategyPlan& plan) {
  return [&plan](Rank rank) { return plan.cluster.describe(rank); };
}

class ParameterServerWorker : public WorkerStrategy {
 public:
  ParameterServerWorker(const StrategyPlan& plan, Env& env, MemberId self)
      : plan_(plan), env_(env), self_(self), scratch_(env.device), stream_(env.device.make_stream("push")) {}

  Yields yields() const override { return Yields::parameters; }

  Status connect(const View& everyone, Deadline deadline) override {
    XDC_TRY_ASSIGN(communicator_, env_.fabric.connect(everyone, "parameter server", deadline));
    return ok_status();
  }

  Result<ControlSum> exchange(const WorkerRound& round) override {
    ExchangeSite site{env_.device, stream_, *communicator_, scratch_, describer(plan_), plan_.geometry(), coding_of(plan_, self_, round)};
    std::vector<Transfer> pushes, pulls;
    scratch_.reset();
    for (size_t b = 0; b < plan_.buckets.size(); ++b) {
      XDC_TRY(round.wait_bucket(static_cast<int>(b)));
      XDC_TRY(push(site, round, b, pushes, pulls));
    }
    AgreedSum total;
    for (auto& pull : pulls) {
      XDC_TRY_ASSIGN(const ControlSum sum, await(site, pull, round.deadline));
      XDC_TRY(total.meet(sum));
    }
    XDC_TRY(await_all(site, pushes, round.deadline));
    return *total.value();
  }

  void abort(const Error& error) override {
    if (communicator_ != nullptr) {
      communicator_->abort(error);
    }
  }

 private:
  Status push(ExchangeSite& site, const WorkerRound& round, size_t b, std::vector<Transfer>& pushes, std::vector<Transfer>& pulls) {
    const auto servers = plan_.cluster.servers();
    std::vector<WireTensor> wires(servers.size());
    for (size_t s = 0; s < servers.size(); ++s) {
      const Range range = piece(plan_, b, static_cast<int>(s));
      if (range.count == 0) {
        continue;
      }
      const Encoding encoding{plan_.tier_between(self_, servers[s]), Encoded::contribution, range, 0};
      XDC_TRY_ASSIGN(
          wires[s], encode(site, {round.round, static_cast<int>(b), round.deadline}, encoding, site.geometry.slice(round.gradient, range)));
    }
    XDC_TRY(finish(site, round.deadline));
    for (size_t s = 0; s < servers.size(); ++s) {
      const Range range = piece(plan_, b, static_cast<int>(s));
      if (range.count > 0) {
        const int bucket = static_cast<int>(b), part = static_cast<int>(s);
        pushes.push_back(send(site, servers[s], {round.round, Phase::push, bucket, part}, round.own, wires[s]));
        const WireTensor place = plain(range, site.geometry.slice(round.parameters_after, range));
        pulls.push_back(receive(site, servers[s], {round.round, Phase::pull, bucket, part}, place));
      }
    }
    return ok_status();
  }

  const StrategyPlan& plan_;
  Env& env_;
  MemberId self_;
  Scratch scratch_;
  Stream stream_;
  std::unique_ptr<Communicator> communicator_;
};

class ParameterServer : public ServerStrategy {
 public:
  ParameterServer(const StrategyPlan& plan, const Optimizer& optimizer, Env& env, MemberId self)
      : plan_(plan),
        optimizer_(optimizer),
        env_(env),
        self_(self),
        shard_(self - plan.cluster.workers()),
        scratch_(env.device),
        stream_(env.device.make_stream("serve")) {}

  Range owned() const override { return shard_range(plan_, shard_); }

  Status connect(const View& everyone, Deadline deadline) override {
    XDC_TRY_ASSIGN(communicator_, env_.fabric.connect(everyone, "parameter server", deadline));
    return ok_status();
  }

  Result<ControlSum> serve(const ServerRound& round) override {
    ExchangeSite site{env_.device, stream_, *communicator_, scratch_, describer(plan_), plan_.geometry(), {plan_.codecs}};
    std::vector<Transfer> answers;
    AgreedSum total;
    for (size_t b = 0; b < plan_.buckets.size(); ++b) {
      const Range range = piece(plan_, b, shard_);
      if (range.count == 0) {
        continue;
      }
      scratch_.reset();
      ControlSum sum;
      XDC_TRY_ASSIGN(const Tensor gradient, collect(site, round, b, range, sum));
      XDC_TRY(total.meet(sum));
      update(round, range, gradient);
      XDC_TRY(finish(site, round.deadline));
      const WireTensor fresh = plain(range, site.geometry.slice_of(round.parameters_after, owned(), range));
      for (const MemberId worker : plan_.cluster.workers_view(0).members) {
        answers.push_back(send(site, worker, {round.round, Phase::pull, static_cast<int>(b), shard_}, sum, fresh));
      }
    }
    XDC_TRY(await_all(site, answers, round.deadline));
    return *total.value();
  }

  void abort(const Error& error) override {
    if (communicator_ != nullptr) {
      communicator_->abort(error);
    }
  }

 private:
  // The workers' pieces, added in rank order.
  Result<Tensor> collect(ExchangeSite& site, const ServerRound& round, size_t b, Range range, ControlSum& sum) {
    std::vector<Transfer> pushes;
    for (const MemberId worker : plan_.cluster.workers_view(0).members) {
      XDC_TRY_ASSIGN(const WireTensor room, inbox(site, plan_.codec_between(worker, self_), range));
      pushes.push_back(receive(site, worker, {round.round, Phase::push, static_cast<int>(b), shard_}, room));
    }
    Tensor acc;
    for (auto& push : pushes) {
      XDC_TRY_ASSIGN(const ControlSum own, await(site, push, round.deadline));
      sum = sum + own;
      XDC_TRY_ASSIGN(const Tensor term, decoded(site, push.wire));
      if (&push == &pushes.front()) {
        acc = term;
      } else {
        add(site, range, acc, term);
      }
    }
    return acc;
  }

  void update(const ServerRound& round, Range range, Tensor gradient) {
    const auto own = [&](Tensor t) { return plan_.geometry().slice_of(t, owned(), range); };
    std::vector<Tensor> before, after;
    for (size_t i = 0; i < round.state_before.size(); ++i) {
      before.push_back(own(round.state_before[i]));
      after.push_back(own(round.state_after[i]));
    }
    env_.device.charge(stream_, optimizer_.cost(range.count));
    optimizer_.apply(env_.device.kernels(), stream_, round.round, own(round.parameters_before), before, gradient,
                     own(round.parameters_after), after);
  }

  const StrategyPlan& plan_;
  const Optimizer& optimizer_;
  Env& env_;
  MemberId self_;
  int shard_;
  Scratch scratch_;
  Stream stream_;
  std::unique_ptr<Communicator> communicator_;
};

StrategySpec read(TableReader& table, const Topology& topology) {
  ParameterServerSpec spec;
  std::vector<std::string> names;
  for (const auto& datacenter : topology.datacenters) {
    names.push_back(datacenter.name);
  }
  spec.placement = std::max(0, topology.datacenter_index(table.required_one_of("placement", names)));
  spec.shards = static_cast<int>(table.integer("shards", 1, 4096, 1));
  return spec;
}

Description describe(const StrategyPlan& plan) {
  const auto& spec = std::get<ParameterServerSpec>(plan.spec);
  return {{"kind", "parameter_server"},
          {"placement", plan.cluster.datacenters[static_cast<size_t>(spec.placement)]},
          {"shards", int64_t{spec.shards}}};
}

PairBytes payload_per_round(const StrategyPlan& plan) {
  const int home = std::get<ParameterServerSpec>(plan.spec).placement;
  PairBytes pairs;
  // Piece by piece: of each one top_k sends a whole number of elements.
  int64_t pushed = 0, pulled = 0;
  for (size_t b = 0; b < plan.buckets.size(); ++b) {
    for (int s = 0; s < std::get<ParameterServerSpec>(plan.spec).shards; ++s) {
      pushed += plan.geometry().wire_bytes(plan.codecs.wan, piece(plan, b, s));
      pulled += plan.geometry().wire_bytes({}, piece(plan, b, s));
    }
  }
  for (size_t d = 0; d < plan.cluster.datacenters.size(); ++d) {
    const int away = static_cast<int>(d);
    const auto workers = static_cast<int64_t>(plan.cluster.workers_of(away).size());
    if (away != home && workers > 0) {
      pairs[{away, home}] = workers * pushed;
      pairs[{home, away}] = workers * pulled;
    }
  }
  return pairs;
}

ResidualPlan residuals(const StrategyPlan& plan, MemberId self) {
  ResidualPlan kept;
  const auto servers = plan.cluster.servers();
  for (size_t b = 0; b < plan.buckets.size(); ++b) {
    for (size_t s = 0; s < servers.size(); ++s) {
      const Tier tier = plan.tier_between(self, servers[s]);
      if (plan.codecs.of(tier).error_feedback) {
        kept.add(tier, Encoded::contribution, plan.geometry().real(piece(plan, b, static_cast<int>(s))));
      }
    }
  }
  return kept;
}

// A shard without elements would be a server that nobody speaks to.
Status resolve(StrategyPlan& plan, const Topology&) {
  const int shards = std::get<ParameterServerSpec>(plan.spec).shards;
  const int64_t blocks = (plan.parameters + kBlock - 1) / kBlock;
  if (shards > blocks) {
    return Error{ErrorCode::invalid,
                 fmt::format("shards = {}, but a model of {} parameters has only {} blocks of {} to deal out; at most {} shards", shards,
                             plan.parameters, blocks, kBlock, blocks)};
  }
  return ok_status();
}

}  // namespace

StrategyKind parameter_server_kind() {
  return {
      .name = "parameter_server",
      .read = read,
      .add_members =
          [](const StrategySpec& spec, const Topology& topology, Cluster& cluster) {
            const auto& server = std::get<ParameterServerSpec>(spec);
            add_servers(cluster, topology, server.placement, server.shards);
          },
      .resolve = resolve,
      .describe = describe,
      .payload_per_round = payload_per_round,
      .residuals = residuals,
      .likeness = [](const StrategyPlan&, MemberId) { return std::optional<Likeness>{Likeness{}}; },
      .make_worker = [](const StrategyPlan& plan, Env& env, MemberId self) -> std::unique_ptr<WorkerStrategy> {
        return std::make_unique<ParameterServerWorker>(plan, env, self);
      },
      .make_server = [](const StrategyPlan& plan, const Optimizer& optimizer, Env& env, MemberId self) -> std::unique_ptr<ServerStrategy> {
        return std::make_unique<ParameterServer>(plan, optimizer, env, self);
      }};
}

}  // namespace xdc
