#include "core/rank_main/worker.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/data/sampler.hpp"
#include "core/rank_main/exchange_lane.hpp"
#include "core/rank_main/gradient.hpp"
#include "core/rank_main/run_state.hpp"
#include "core/strategies/registry.hpp"
#include "core/strategies/round.hpp"

namespace xdc {
namespace {

class Worker {
 public:
  Worker(Env& env, const RunSpec& spec, MemberId self, MemberReport& report)
      : env_(env),
        spec_(spec),
        self_(self),
        report_(report),
        schedule_(spec.schedule()),
        optimizer_(make_optimizer(spec, schedule_)),
        vote_(spec.cluster(), env),
        first_(self == 0) {}

  Status run() {
    XDC_TRY(prepare());
    const Status status = train();
    if (!status.ok()) {
      strategy_->abort({ErrorCode::peer_lost, status.error().message});
      vote_.abort({ErrorCode::peer_lost, status.error().message});
      return status;
    }
    if (!gradient_->gradient().bytes.phantom()) {
      XDC_TRY_ASSIGN(report_.parameters_digest, parameters_digest(env_, stream_, state_->applied().parameters));
    }
    return ok_status();
  }

 private:
  Status prepare() {
    if (spec_.dataset != nullptr) {
      sampler_.emplace(schedule_, self_, (*spec_.partition)[static_cast<size_t>(member().datacenter)], spec_.seed);
    }
    stream_ = env_.device.make_stream("update");
    XDC_TRY_ASSIGN(gradient_,
                   GradientSource::make(env_, spec_, spec_.train.batch_per_datacenter[static_cast<size_t>(member().datacenter)]));
    if (first_ && spec_.dataset != nullptr) {
      XDC_TRY_ASSIGN(evaluator_, Evaluator::make(env_, spec_));
    }
    strategy_ = strategy_of(spec_.plan.spec).make_worker(spec_.plan, env_, self_);
    const bool updates_here = strategy_->yields() == Yields::mean_gradient;
    XDC_TRY_ASSIGN(auto state, ModelState::make(env_.device, spec_.network.parameters, updates_here ? optimizer_.state_tensors() : 0,
                                                state_sets(spec_)));
    state_.emplace(std::move(state));
    XDC_TRY(initialise(env_, spec_, stream_, {0, spec_.network.parameters}, state_->applied().parameters));
    const Deadline deadline = env_.clock.now() + spec_.start_timeout;
    const View everyone = spec_.cluster().everyone(1);
    XDC_TRY(strategy_->connect(everyone, deadline));
    return vote_.connect(everyone, deadline);
  }

  Status train() {
    ExchangeLane lane(env_, *strategy_, spec_.plan.buckets.size());
    begun_ = env_.clock.now();
    for (int64_t step = 1;; ++step) {
      XDC_TRY_ASSIGN(const bool applied, round(lane, step));
      if (!applied) {
        break;
      }
      const bool last = stops_after(spec_.train.stop, schedule_, step);
      if (first_ && spec_.train.eval_every && step % *spec_.train.eval_every == 0 && !last) {
        evaluate(step);
      }
      if (last) {
        break;
      }
    }
    XDC_TRY(settle(vote_, *state_, env_.clock.now() + spec_.round_timeout, report_));
    if (first_) {
      evaluate(state_->round());
    }
    return ok_status();
  }

  // One round, from the batch to new parameters. False: votes to stop came with it, and nobody applies it.
  Result<bool> round(ExchangeLane& lane, int64_t step) {
    const TimePoint start = env_.clock.now();
    const int64_t weight = schedule_.total(step);
    const int count = schedule_.samples(self_, step);
    const auto& before = state_->applied();
    const auto& after = state_->next();
    lane.begin({step,
                start + spec_.round_timeout,
                {count, votes_to_stop(spec_, start - begun_ - evaluation_time_)},
                gradient_->gradient(),
                after.parameters,
                {}});
    const auto samples = sampler_ ? sampler_->indices(step) : std::span<const int32_t>{};
    const Event computed = gradient_->compute(before.parameters, samples, count, 1.0F / static_cast<float>(weight),
                                              [&](Event event) { lane.bucket_ready(event); });
    const Status finished = env_.device.wait(computed, kNoDeadline);
    if (!finished.ok()) {
      lane.give_up(finished.error());
      XDC_TRY(lane.finish().status());
      return finished.error();
    }
    Duration compute = env_.clock.now() - start;
    XDC_TRY_ASSIGN(const ControlSum total, lane.finish());
    ++report_.rounds_exchanged;
    confirm_previous();
    XDC_TRY(check_weights(total, weight, step));
    if (total.stop_votes > 0) {
      return false;
    }
    if (strategy_->yields() == Yields::mean_gradient) {
      const TimePoint update = env_.clock.now();
      XDC_TRY(apply(step));
      compute = compute + (env_.clock.now() - update);
    }
    state_->advance();
    if (spec_.commit_by_vote && !stops_after(spec_.train.stop, schedule_, step)) {
      XDC_TRY(settle(vote_, *state_, env_.clock.now() + spec_.round_timeout, report_));
    }
    record(step, start, compute, count);
    return true;
  }

  Status apply(int64_t step) {
    const auto& before = state_->applied();
    const auto& after = state_->next();
    env_.device.charge(stream_, optimizer_.cost(spec_.network.parameters));
    optimizer_.apply(env_.device.kernels(), stream_, step, before.parameters, before.optimizer, gradient_->gradient(), after.parameters,
                     after.optimizer);
    return env_.device.wait(env_.device.record(stream_), kNoDeadline);
  }

  // Whoever has completed a round has everyone's contribution to it: the one before is applied everywhere.
  void confirm_previous() {
    state_->confirm();
    report_.rounds_committed = state_->round();
  }

  void record(int64_t step, TimePoint start, Duration compute, int64_t count) {
    const TimePoint now = env_.clock.now();
    const auto loss = gradient_->loss();
    report_.steps.push_back(
        {step, (now - begun_ - evaluation_time_).ns, (now - start).ns, compute.ns, count, static_cast<double>(loss.value_or(0.0F))});
    if (first_) {
      env_.trace.record(now, step, "step", {{"duration_s", to_seconds(now - start)}, {"samples", schedule_.total(step)}});
    }
  }

  void evaluate(int64_t step) {
    if (evaluator_ == nullptr) {
      return;
    }
    const TimePoint start = env_.clock.now();
    const auto score = evaluator_->evaluate(state_->applied().parameters);
    report_.evaluations.push_back({step, (start - begun_ - evaluation_time_).ns, score.loss, score.accuracy});
    env_.trace.record(start, step, "evaluation", {{"loss", score.loss}, {"accuracy", score.accuracy}});
    evaluation_time_ = evaluation_time_ + (env_.clock.now() - start);
  }

  const Member& member() const { return spec_.cluster().members[static_cast<size_t>(self_)]; }

  Env& env_;
  const RunSpec& spec_;
  MemberId self_;
  MemberReport& report_;
  SampleSchedule schedule_;
  Optimizer optimizer_;
  CommitVote vote_;
  bool first_;
  std::optional<Sampler> sampler_;
  std::unique_ptr<GradientSource> gradient_;
  std::unique_ptr<Evaluator> evaluator_;
  std::unique_ptr<WorkerStrategy> strategy_;
  std::optional<ModelState> state_;
  Stream stream_;
  TimePoint begun_;
  Duration evaluation_time_;
};

}  // namespace

Status run_worker(Env& env, const RunSpec& spec, MemberId self, MemberReport& report) { return Worker(env, spec, self, report).run(); }

}  // namespace xdc
