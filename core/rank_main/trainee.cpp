#include "core/rank_main/trainee.hpp"

#include <limits>
#include <utility>

namespace xdc {

Trainee::Trainee(Env& an_env, const RunSpec& a_spec, MemberId itself, MemberReport& its_report)
    : env(an_env),
      spec(a_spec),
      self(itself),
      report(its_report),
      first(itself == 0),
      schedule(a_spec.schedule()),
      optimizer(make_optimizer(a_spec, schedule)),
      vote(a_spec.cluster(), an_env) {}

Status Trainee::prepare() {
  const auto datacenter = static_cast<size_t>(spec.cluster().members[static_cast<size_t>(self)].datacenter);
  if (spec.dataset != nullptr) {
    sampler_.emplace(schedule, self, (*spec.partition)[datacenter], spec.seed);
  }
  stream = env.device.make_stream("update");
  XDC_TRY_ASSIGN(gradient, GradientSource::make(env, spec, spec.train.batch_per_datacenter[datacenter]));
  if (first && spec.dataset != nullptr) {
    XDC_TRY_ASSIGN(evaluator, Evaluator::make(env.device, spec));
  }
  strategy = strategy_of(spec.plan.spec).make_worker(spec.plan, env, self);
  residual_plan_ = strategy_of(spec.plan.spec).residuals(spec.plan, self);
  const bool updates_here = strategy->yields() == Yields::mean_gradient;
  XDC_TRY_ASSIGN(auto made, ModelState::make(env.device, spec.plan.geometry().real(), updates_here ? optimizer.state_tensors() : 0,
                                             spec.state_sets(), &residual_plan_));
  state.emplace(std::move(made));
  XDC_TRY(initialise(env, spec, stream, {0, spec.plan.parameters}, state->applied().parameters));
  const Deadline deadline = env.clock.now() + spec.start_timeout;
  const View everyone = spec.cluster().everyone(1);
  XDC_TRY(strategy->connect(everyone, deadline));
  return vote.connect(everyone, deadline);
}

void Trainee::abort(const Error& error) {
  strategy->abort({ErrorCode::peer_lost, error.message});
  vote.abort({ErrorCode::peer_lost, error.message});
}

Status Trainee::digest() {
  if (!gradient->gradient().bytes.phantom()) {
    XDC_TRY_ASSIGN(report.parameters_digest, parameters_digest(env, stream, state->applied().parameters));
  }
  return ok_status();
}

Status Trainee::compute(int64_t step, Tensor parameters, float scale, double loss_share, const std::function<void(Event)>& on_bucket) {
  const TimePoint start = env.clock.now();
  const int count = schedule.samples(self, step);
  const auto samples = sampler_ ? sampler_->indices(step) : std::span<const int32_t>{};
  XDC_TRY(env.device.wait(gradient->compute(parameters, samples, count, scale, on_bucket), kNoDeadline));
  const auto loss = gradient->loss();
  trained.push_back({step, 0, 0, (env.clock.now() - start).ns, count, static_cast<double>(loss.value_or(0.0F)) * loss_share});
  return ok_status();
}

void Trainee::record(TimePoint start) {
  int64_t before = (start - begun_ - evaluation_time_).ns;
  for (StepRecord& step : trained) {
    step.duration_ns = step.end_ns - std::exchange(before, step.end_ns);
    report.steps.push_back(step);
    const double loss = gradient->gradient().bytes.phantom() ? std::numeric_limits<double>::quiet_NaN() : step.loss;
    env.trace.record(begun_ + evaluation_time_ + nanoseconds(step.end_ns), step.step, "step",
                     {{"samples", step.samples}, {"loss", loss}, {"duration_ns", step.duration_ns}, {"compute_ns", step.compute_ns}});
  }
  trained.clear();
}

void Trainee::evaluate(int64_t step) {
  if (evaluator == nullptr) {
    return;
  }
  const TimePoint start = env.clock.now();
  score(step, start, state->applied().parameters);
  evaluation_time_ = evaluation_time_ + (env.clock.now() - start);
}

void Trainee::evaluate_aside(int64_t step, Tensor parameters) { score(step, env.clock.now(), parameters); }

void Trainee::score(int64_t step, TimePoint start, Tensor parameters) {
  const auto scored = evaluator->evaluate(parameters);
  report.evaluations.push_back({step, (start - begun_ - evaluation_time_).ns, scored.loss, scored.accuracy});
  env.trace.record(start, step, "evaluation", {{"loss", scored.loss}, {"accuracy", scored.accuracy}});
}

}  // namespace xdc
