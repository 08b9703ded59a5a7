#include "core/rank_main/worker.hpp"

#include <fmt/format.h>

#include <functional>
#include <utility>
#include <vector>

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
    residual_plan_ = strategy_of(spec_.plan.spec).residuals(spec_.plan, self_);
    const bool updates_here = strategy_->yields() == Yields::mean_gradient;
    XDC_TRY_ASSIGN(auto state, ModelState::make(env_.device, spec_.plan.geometry().real(), updates_here ? optimizer_.state_tensors() : 0,
                                                spec_.state_sets(), &residual_plan_));
    state_.emplace(std::move(state));
    XDC_TRY(initialise(env_, spec_, stream_, {0, spec_.plan.parameters}, state_->applied().parameters));
    const Deadline deadline = env_.clock.now() + spec_.start_timeout;
    const View everyone = spec_.cluster().everyone(1);
    XDC_TRY(strategy_->connect(everyone, deadline));
    return vote_.connect(everyone, deadline);
  }

  Status train() {
    ExchangeLane lane(env_, *strategy_, spec_.plan.buckets.size());
    begun_ = env_.clock.now();
    for (int64_t round = 1;; ++round) {
      XDC_TRY_ASSIGN(const bool applied, train_round(lane, round));
      if (!applied) {
        break;
      }
      const int64_t step = last_step(round);
      const bool last = stops_after(spec_.train.stop, schedule_, step);
      // Parameters are agreed between rounds: then, if a multiple has been passed since the last time.
      const auto due = [this](int64_t at) { return at / *spec_.train.eval_every; };
      if (first_ && spec_.train.eval_every && due(step) > due(last_step(round - 1)) && !last) {
        evaluate(step);
      }
      if (last) {
        break;
      }
    }
    XDC_TRY(settle(vote_, *state_, env_.clock.now() + spec_.round_timeout, report_));
    if (first_) {
      evaluate(last_step(state_->round()));
    }
    return ok_status();
  }

  int64_t last_step(int64_t round) const { return round * spec_.plan.steps_per_round(); }

  // One round, from batches to parameters that all agree on. False: votes to stop came with it, and nobody applies it.
  Result<bool> train_round(ExchangeLane& lane, int64_t round) {
    const TimePoint start = env_.clock.now();
    const int64_t before = last_step(round - 1), last = last_step(round);
    const int64_t weight = schedule_.total_until(last) - schedule_.total_until(before);
    int64_t own = 0;
    for (int64_t step = before + 1; step <= last; ++step) {
      own += schedule_.samples(self_, step);
    }
    lane.begin({round,
                start + spec_.round_timeout,
                {own, votes_to_stop(spec_, start - begun_ - evaluation_time_)},
                gradient_->gradient(),
                state_->next().parameters,
                {},
                state_->applied().residuals,
                state_->next().residuals});
    trained_.clear();
    const Status contributed =
        spec_.plan.trains_locally() ? contribute_difference(lane, before + 1, last, own, weight) : contribute_gradient(lane, last, weight);
    if (!contributed.ok()) {
      lane.give_up(contributed.error());
      XDC_TRY(lane.finish().status());
      return contributed.error();
    }
    XDC_TRY_ASSIGN(const ControlSum total, lane.finish());
    ++report_.rounds_exchanged;
    confirm_previous();
    XDC_TRY(check_weights(total, weight, round));
    if (total.stop_votes > 0) {
      return false;
    }
    const TimePoint update = env_.clock.now();
    if (spec_.plan.trains_locally()) {
      XDC_TRY(apply_difference());
    } else if (strategy_->yields() == Yields::mean_gradient) {
      XDC_TRY(apply(last, state_->applied()));
    }
    trained_.back().compute_ns += (env_.clock.now() - update).ns;
    state_->advance();
    if (spec_.commit_by_vote && !stops_after(spec_.train.stop, schedule_, last)) {
      XDC_TRY(settle(vote_, *state_, env_.clock.now() + spec_.round_timeout, report_));
    }
    trained_.back().end_ns = (env_.clock.now() - begun_ - evaluation_time_).ns;
    record(start);
    return true;
  }

  // This rank's part of the weighted mean gradient, bucket by bucket behind backward.
  Status contribute_gradient(ExchangeLane& lane, int64_t step, int64_t weight) {
    return compute(step, state_->applied().parameters, 1.0F / static_cast<float>(weight), 1,
                   [&](Event event) { lane.bucket_ready(event); });
  }

  // Steps of this rank alone, each by the mean gradient of its own samples; then what they changed, by its weight.
  Status contribute_difference(ExchangeLane& lane, int64_t first, int64_t last, int64_t own, int64_t weight) {
    const auto& before = state_->applied();
    const auto& after = state_->next();
    const ModelState::Set* from = &before;
    for (int64_t step = first; step <= last; ++step) {
      const int count = schedule_.samples(self_, step);
      const TimePoint start = env_.clock.now();
      const double share = static_cast<double>(count) / static_cast<double>(schedule_.total(step));
      XDC_TRY(compute(step, from->parameters, count == 0 ? 0 : 1.0F / static_cast<float>(count), share, [](Event) {}));
      if (count > 0) {
        XDC_TRY(apply(step, *from));
        from = &after;
      }
      trained_.back().compute_ns = (env_.clock.now() - start).ns;
      trained_.back().end_ns = (env_.clock.now() - begun_ - evaluation_time_).ns;
    }
    auto& kernels = env_.device.kernels();
    const Tensor difference = gradient_->gradient();
    if (from == &before) {
      // Exhausted in every step: it changes nothing, and takes the others' mean.
      for (size_t i = 0; i < before.optimizer.size(); ++i) {
        env_.device.copy(stream_, after.optimizer[i].bytes, before.optimizer[i].bytes);
      }
      env_.device.clear(stream_, difference.bytes);
    } else {
      env_.device.copy(stream_, difference.bytes, before.parameters.bytes);
      kernels.scale(stream_, difference, -1);
      kernels.add(stream_, difference, after.parameters);
      kernels.scale(stream_, difference, static_cast<float>(own) / static_cast<float>(weight));
    }
    env_.device.charge(stream_, difference_cost());
    const Event ready = env_.device.record(stream_);
    for (size_t b = 0; b < spec_.plan.buckets.size(); ++b) {
      lane.bucket_ready(ready);
    }
    return env_.device.wait(ready, kNoDeadline);
  }

  // parameters = those agreed last + the weighted mean of what the ranks changed.
  Status apply_difference() {
    env_.device.copy(stream_, state_->next().parameters.bytes, state_->applied().parameters.bytes);
    env_.device.kernels().add(stream_, state_->next().parameters, gradient_->gradient());
    env_.device.charge(stream_, difference_cost());
    return env_.device.wait(env_.device.record(stream_), kNoDeadline);
  }

  // Two operands read and one result written, each element once.
  Cost difference_cost() const {
    const auto n = static_cast<double>(spec_.plan.parameters);
    return {2 * n, 3 * n * sizeof(float)};
  }

  // Forward and backward of one step, which then stands in `trained_`; `loss_share` turns the scaled loss into this rank's part
  // of the mean over all ranks.
  Status compute(int64_t step, Tensor parameters, float scale, double loss_share, const std::function<void(Event)>& on_bucket) {
    const TimePoint start = env_.clock.now();
    const int count = schedule_.samples(self_, step);
    const auto samples = sampler_ ? sampler_->indices(step) : std::span<const int32_t>{};
    XDC_TRY(env_.device.wait(gradient_->compute(parameters, samples, count, scale, on_bucket), kNoDeadline));
    const auto loss = gradient_->loss();
    trained_.push_back({step, 0, 0, (env_.clock.now() - start).ns, count, static_cast<double>(loss.value_or(0.0F)) * loss_share});
    return ok_status();
  }

  // The optimizer's step from `before` into the set that the round in flight writes.
  Status apply(int64_t step, const ModelState::Set& before) {
    const auto& after = state_->next();
    env_.device.charge(stream_, optimizer_.cost(spec_.plan.parameters));
    optimizer_.apply(env_.device.kernels(), stream_, step, before.parameters, before.optimizer, gradient_->gradient(), after.parameters,
                     after.optimizer);
    return env_.device.wait(env_.device.record(stream_), kNoDeadline);
  }

  // Whoever has completed a round has everyone's contribution to it: the one before is applied everywhere.
  void confirm_previous() {
    state_->confirm();
    report_.rounds_committed = state_->round();
  }

  // The round's steps, one after another from `start` to the end of the round.
  void record(TimePoint start) {
    int64_t before = (start - begun_ - evaluation_time_).ns;
    for (StepRecord& step : trained_) {
      step.duration_ns = step.end_ns - std::exchange(before, step.end_ns);
      report_.steps.push_back(step);
      if (first_) {
        env_.trace.record(begun_ + evaluation_time_ + nanoseconds(step.end_ns), step.step, "step",
                          {{"duration_s", to_seconds(nanoseconds(step.duration_ns))}, {"samples", schedule_.total(step.step)}});
      }
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
  ResidualPlan residual_plan_;
  std::optional<ModelState> state_;
  Stream stream_;
  TimePoint begun_;
  Duration evaluation_time_;
  std::vector<StepRecord> trained_;  // the steps of the round in flight
};

}  // namespace

Status run_worker(Env& env, const RunSpec& spec, MemberId self, MemberReport& report) { return Worker(env, spec, self, report).run(); }

}  // namespace xdc
