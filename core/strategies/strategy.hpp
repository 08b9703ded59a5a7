// What is a strategy? How the gradients of a round become parameters that all ranks agree on. A worker's part runs on its
// communication lane, bucket by bucket behind backward; a server's part is its whole life.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "core/codec/codec.hpp"
#include "core/collectives/closed_form.hpp"
#include "core/collectives/exchange.hpp"
#include "core/membership/cluster.hpp"
#include "core/optim/optimizer.hpp"
#include "core/seam/env.hpp"
#include "core/strategies/spec.hpp"

namespace xdc {

// Everything a strategy's plan depends on; the same on every member.
struct StrategyPlan {
  StrategySpec spec;
  Cluster cluster;
  std::vector<Range> buckets;  // in the order in which backward finishes them
  int64_t parameters = 0;      // what is dealt out: all ranges are of these
  TierCodecs codecs;
  uint64_t seed = 0;  // of the scenario: what stochastic rounding draws under
  // Elements that tensors hold; 0: those of `parameters`. And whose bytes a message counts as.
  int64_t real_parameters = 0;
  bool counts_planned = true;

  Geometry geometry() const { return {parameters, real_parameters == 0 ? parameters : real_parameters, counts_planned}; }

  // Ranks take steps of their own, and agree on parameters at the end of each round.
  bool trains_locally() const { return std::holds_alternative<LocalSgdSpec>(spec); }
  // Every push is an update of its own: workers agree on parameters at the end of the run alone.
  bool pushes_freely() const {
    const auto* servers = std::get_if<ParameterServerSpec>(&spec);
    return servers != nullptr && servers->mode != ServerMode::sync;
  }
  int64_t steps_per_round() const { return trains_locally() ? std::get<LocalSgdSpec>(spec).period : 1; }

  Tier tier_between(MemberId a, MemberId b) const {
    const auto& members = cluster.members;
    return members[static_cast<size_t>(a)].datacenter == members[static_cast<size_t>(b)].datacenter ? Tier::lan : Tier::wan;
  }
  const CodecSpec& codec_between(MemberId a, MemberId b) const { return codecs.of(tier_between(a, b)); }
};

// One round as a worker's communication lane sees it.
struct WorkerRound {
  int64_t round = 0;  // from 1
  Deadline deadline;
  ControlSum own;
  Tensor gradient;          // f32 [geometry().real()]: this rank's part of a weighted mean; becomes the mean where `yields` says so
  Tensor parameters_after;  // f32 [geometry().real()]: where new parameters go, where `yields` says so
  // Blocks until backward has finished the bucket. Called once for each, in order.
  std::function<Status(int bucket)> wait_bucket;
  // What encodings lost before this round, and what they have lost after it (StrategyKind::residuals).
  Residuals residuals_before = {}, residuals_after = {};
};

inline Coding coding_of(const StrategyPlan& plan, MemberId self, const WorkerRound& round) {
  return {plan.codecs, plan.seed, static_cast<uint32_t>(self), round.residuals_before, round.residuals_after};
}

enum class Yields {
  mean_gradient,  // of what it was given; the caller applies it
  parameters,     // a server has applied it
};

class WorkerStrategy {
 public:
  virtual ~WorkerStrategy() = default;
  virtual Yields yields() const = 0;
  // Opens the communicators of one view.
  virtual Status connect(const View& everyone, Deadline deadline) = 0;
  // One round; returns the sums over all workers. Errors break the strategy: recovery is a new view.
  virtual Result<ControlSum> exchange(const WorkerRound& round) = 0;
  // Any lane; wakes exchange().
  virtual void abort(const Error& error) = 0;
};

// One round as a server sees it. Its tensors hold its own elements only: the real slice of what it owns.
struct ServerRound {
  int64_t round = 0;
  Deadline deadline;
  Tensor parameters_before, parameters_after;
  std::vector<Tensor> state_before, state_after;
};

// What one worker has pushed, where every push is an update of its own.
struct Push {
  MemberId worker = 0;
  int64_t number = 0;  // of this worker's, from 1
  ControlSum own;      // a vote to stop: it is not to be applied, and the worker's last
};

// A server that applies pushes one by one, in the order in which their last pieces arrived. A round is one of them.
class PushServer {
 public:
  virtual ~PushServer() = default;
  // What lives here, of plan.parameters.
  virtual Range owned() const = 0;
  // `pushes`: by worker, how many it will send unless it votes to stop. `patience`: how long no push at all may come.
  virtual Status connect(const View& everyone, std::vector<int64_t> pushes, Duration patience, Deadline deadline) = 0;
  // The next push. Blocks. Requires that one is still to come.
  virtual Result<Push> take() = 0;
  // The update by the push taken last: from the round's sets before into those after. `round.round` counts the server's updates.
  virtual Status apply(const Push& push, const ServerRound& round) = 0;
  // Lets the push's worker go on, with these parameters (f32, what is owned); they are copied and may change at once.
  virtual Status answer(const Push& push, Tensor parameters, Deadline deadline) = 0;
  // Everything has been taken: waits until all answers have left.
  virtual Status finish(Deadline deadline) = 0;
  // Any lane; wakes the others' calls.
  virtual void abort(const Error& error) = 0;
};

class ServerStrategy {
 public:
  virtual ~ServerStrategy() = default;
  // What lives here, of plan.parameters.
  virtual Range owned() const = 0;
  virtual Status connect(const View& everyone, Deadline deadline) = 0;
  virtual Result<ControlSum> serve(const ServerRound& round) = 0;
  virtual void abort(const Error& error) = 0;
};

}  // namespace xdc
