#include "core/rank_main/worker.hpp"

#include "core/rank_main/exchange_lane.hpp"
#include "core/rank_main/free_worker.hpp"
#include "core/rank_main/trainee.hpp"

namespace xdc {
namespace {

class Worker {
 public:
  Worker(Env& env, const RunSpec& spec, MemberId self, MemberReport& report, Checkpoints* checkpoints)
      : trainee_(env, spec, self, report), env_(env), spec_(spec), checkpoints_(checkpoints) {}

  Status run() {
    XDC_TRY(trainee_.prepare());
    const Status status = begin_and_train();
    if (!status.ok()) {
      trainee_.abort(status.error());
      return status;
    }
    return trainee_.digest();
  }

 private:
  SavedState saved() { return {&*trainee_.state, trainee_.stream, spec_.plan.trains_locally()}; }

  Status begin_and_train() {
    if (checkpoints_ != nullptr) XDC_TRY(checkpoints_->load(saved()));
    return train();
  }

  Status train() {
    ExchangeLane lane(env_, *trainee_.strategy, spec_.plan.buckets.size());
    trainee_.begin();
    const bool over = spec_.start.step > 0 && stops_after(spec_.train.stop, trainee_.schedule, spec_.start.step);
    for (int64_t round = trainee_.state->round() + 1; !over; ++round) {
      XDC_TRY_ASSIGN(const bool applied, train_round(lane, round));
      if (!applied) {
        break;
      }
      const int64_t step = last_step(round);
      const bool last = stops_after(spec_.train.stop, trainee_.schedule, step);
      // Parameters are agreed between rounds: then, if a multiple has been passed since the last time.
      const auto due = [this](int64_t at) { return at / *spec_.train.eval_every; };
      if (trainee_.first && spec_.train.eval_every && due(step) > due(last_step(round - 1)) && !last) {
        trainee_.evaluate(step);
      }
      if (last) {
        break;
      }
      if (checkpoints_ != nullptr && checkpoints_->due(last_step(round - 1), step)) {
        XDC_TRY(settle(trainee_.vote, *trainee_.state, env_.clock.now() + spec_.round_timeout, trainee_.report));
        if (trainee_.first && checkpoints_->wants_score() && score_of(step) == nullptr) {
          trainee_.evaluate(step);
        }
        XDC_TRY(checkpoints_->save(saved(), step, trainee_.elapsed(), score_of(step)));
      }
    }
    XDC_TRY(settle(trainee_.vote, *trainee_.state, env_.clock.now() + spec_.round_timeout, trainee_.report));
    const int64_t step = last_step(trainee_.state->round());
    if (trainee_.first && score_of(step) == nullptr) {
      trainee_.evaluate(step);
    }
    if (checkpoints_ != nullptr && step > checkpoints_->last_saved()) {
      XDC_TRY(checkpoints_->save(saved(), step, trainee_.elapsed(), score_of(step)));
    }
    return ok_status();
  }

  // nullptr: the parameters after this step have not been scored.
  const EvaluationRecord* score_of(int64_t step) const {
    const auto& scores = trainee_.report.evaluations;
    return scores.empty() || scores.back().step != step ? nullptr : &scores.back();
  }

  int64_t last_step(int64_t round) const { return round * spec_.plan.steps_per_round(); }

  // One round, from batches to parameters that all agree on. False: votes to stop came with it, and nobody applies it.
  Result<bool> train_round(ExchangeLane& lane, int64_t round) {
    const TimePoint start = env_.clock.now();
    const int64_t before = last_step(round - 1), last = last_step(round);
    const int64_t weight = trainee_.schedule.total_until(last) - trainee_.schedule.total_until(before);
    int64_t own = 0;
    for (int64_t step = before + 1; step <= last; ++step) {
      own += trainee_.schedule.samples(trainee_.self, step);
    }
    lane.begin({round,
                start + spec_.round_timeout,
                {own, votes_to_stop(env_, spec_, trainee_.elapsed())},
                trainee_.gradient->gradient(),
                trainee_.state->next().parameters,
                {},
                trainee_.state->applied().residuals,
                trainee_.state->next().residuals});
    const Status contributed =
        spec_.plan.trains_locally() ? contribute_difference(lane, before + 1, last, own, weight) : contribute_gradient(lane, last, weight);
    if (!contributed.ok()) {
      lane.give_up(contributed.error());
      XDC_TRY(lane.finish().status());
      return contributed.error();
    }
    XDC_TRY_ASSIGN(const ControlSum total, lane.finish());
    ++trainee_.report.rounds_exchanged;
    confirm_previous();
    XDC_TRY(check_weights(total, weight, round));
    if (total.stop_votes > 0) {
      const auto& time = spec_.train.stop.time;
      trainee_.report.stopped = !time || spec_.start.elapsed + trainee_.elapsed() < *time;
      return false;
    }
    const TimePoint update = env_.clock.now();
    if (spec_.plan.trains_locally()) {
      XDC_TRY(apply_difference());
    } else if (trainee_.strategy->yields() == Yields::mean_gradient) {
      XDC_TRY(apply(last, trainee_.state->applied()));
    }
    trainee_.trained.back().compute_ns += (env_.clock.now() - update).ns;
    trainee_.state->advance();
    if (spec_.commit_by_vote && !stops_after(spec_.train.stop, trainee_.schedule, last)) {
      XDC_TRY(settle(trainee_.vote, *trainee_.state, env_.clock.now() + spec_.round_timeout, trainee_.report));
    }
    trainee_.trained.back().end_ns = trainee_.elapsed().ns;
    trainee_.record(start);
    return true;
  }

  // This rank's part of the weighted mean gradient, bucket by bucket behind backward.
  Status contribute_gradient(ExchangeLane& lane, int64_t step, int64_t weight) {
    return trainee_.compute(step, trainee_.state->applied().parameters, 1.0F / static_cast<float>(weight), 1,
                            [&](Event event) { lane.bucket_ready(event); });
  }

  // Steps of this rank alone, each by the mean gradient of its own samples; then what they changed, by its weight.
  Status contribute_difference(ExchangeLane& lane, int64_t first, int64_t last, int64_t own, int64_t weight) {
    const auto& before = trainee_.state->applied();
    const auto& after = trainee_.state->next();
    const ModelState::Set* from = &before;
    for (int64_t step = first; step <= last; ++step) {
      const int count = trainee_.schedule.samples(trainee_.self, step);
      const TimePoint start = env_.clock.now();
      const double share = static_cast<double>(count) / static_cast<double>(trainee_.schedule.total(step));
      XDC_TRY(trainee_.compute(step, from->parameters, count == 0 ? 0 : 1.0F / static_cast<float>(count), share, [](Event) {}));
      if (count > 0) {
        XDC_TRY(apply(step, *from));
        from = &after;
      }
      trainee_.trained.back().compute_ns = (env_.clock.now() - start).ns;
      trainee_.trained.back().end_ns = trainee_.elapsed().ns;
    }
    auto& kernels = env_.device.kernels();
    const Tensor difference = trainee_.gradient->gradient();
    if (from == &before) {
      // Exhausted in every step: it changes nothing, and takes the others' mean.
      for (size_t i = 0; i < before.optimizer.size(); ++i) {
        env_.device.copy(trainee_.stream, after.optimizer[i].bytes, before.optimizer[i].bytes);
      }
      env_.device.clear(trainee_.stream, difference.bytes);
    } else {
      env_.device.copy(trainee_.stream, difference.bytes, before.parameters.bytes);
      kernels.scale(trainee_.stream, difference, -1);
      kernels.add(trainee_.stream, difference, after.parameters);
      kernels.scale(trainee_.stream, difference, static_cast<float>(own) / static_cast<float>(weight));
    }
    env_.device.charge(trainee_.stream, difference_cost());
    const Event ready = env_.device.record(trainee_.stream);
    for (size_t b = 0; b < spec_.plan.buckets.size(); ++b) {
      lane.bucket_ready(ready);
    }
    return env_.device.wait(ready, kNoDeadline);
  }

  // parameters = those agreed last + the weighted mean of what the ranks changed.
  Status apply_difference() {
    env_.device.copy(trainee_.stream, trainee_.state->next().parameters.bytes, trainee_.state->applied().parameters.bytes);
    env_.device.kernels().add(trainee_.stream, trainee_.state->next().parameters, trainee_.gradient->gradient());
    env_.device.charge(trainee_.stream, difference_cost());
    return env_.device.wait(env_.device.record(trainee_.stream), kNoDeadline);
  }

  // Two operands read and one result written, each element once.
  Cost difference_cost() const {
    const auto n = static_cast<double>(spec_.plan.parameters);
    return {2 * n, 3 * n * sizeof(float)};
  }

  // The optimizer's step from `before` into the set that the round in flight writes.
  Status apply(int64_t step, const ModelState::Set& before) {
    const auto& after = trainee_.state->next();
    env_.device.charge(trainee_.stream, trainee_.optimizer.cost(spec_.plan.parameters));
    trainee_.optimizer.apply(env_.device.kernels(), trainee_.stream, step, before.parameters, before.optimizer,
                             trainee_.gradient->gradient(), after.parameters, after.optimizer);
    return env_.device.wait(env_.device.record(trainee_.stream), kNoDeadline);
  }

  // Whoever has completed a round has everyone's contribution to it: the one before is applied everywhere.
  void confirm_previous() {
    trainee_.state->confirm();
    trainee_.report.rounds_committed = trainee_.state->rounds_here();
  }

  Trainee trainee_;
  Env& env_;
  const RunSpec& spec_;
  Checkpoints* const checkpoints_;
};

}  // namespace

Status run_worker(Env& env, const RunSpec& spec, MemberId self, MemberReport& report, Checkpoints* checkpoints) {
  return spec.plan.pushes_freely() ? run_free_worker(env, spec, self, report) : Worker(env, spec, self, report, checkpoints).run();
}

}  // namespace xdc
