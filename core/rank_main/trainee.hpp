// What does a worker hold and do in every step, whoever agrees on the parameters and when? Gradient, state, evaluation, the clock and
// the report of one worker, shared by the loops of worker.cpp and free_worker.cpp.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "core/data/sampler.hpp"
#include "core/rank_main/gradient.hpp"
#include "core/rank_main/run_state.hpp"
#include "core/strategies/registry.hpp"

namespace xdc {

class Trainee {
 public:
  // All outlive it.
  Trainee(Env& env, const RunSpec& spec, MemberId self, MemberReport& report);

  // Makes everything below, with the initial parameters applied, and connects it to the others. Errors: those of its parts.
  Status prepare();
  // Tells the others that this worker has failed.
  void abort(const Error& error);
  // Fills the report's digest. Nothing in a phantom run.
  Status digest();

  // The clock of the run starts.
  void begin() { begun_ = env.clock.now(); }
  // Since then, without evaluation.
  Duration elapsed() const { return env.clock.now() - begun_ - evaluation_time_; }

  // Forward and backward of one step, which then stands in `trained`; `loss_share` turns the scaled loss into this rank's part
  // of the mean over all ranks. Blocks until the gradient is finished.
  Status compute(int64_t step, Tensor parameters, float scale, double loss_share, const std::function<void(Event)>& on_bucket);
  // Puts the steps of `trained` into the report, one after another from `start` to the end of the round.
  void record(TimePoint start);

  // The parameters applied, scored for the report as those after `step`. Nothing but on the first rank of a real run.
  void evaluate(int64_t step);
  bool evaluates() const { return evaluator != nullptr; }
  // As evaluate(), for other parameters, and beside the training: its time is not taken off the clock. Requires evaluates().
  void evaluate_aside(int64_t step, Tensor parameters);

  Env& env;
  const RunSpec& spec;
  const MemberId self;
  MemberReport& report;
  const bool first;
  const SampleSchedule schedule;
  const Optimizer optimizer;
  CommitVote vote;
  std::unique_ptr<GradientSource> gradient;
  std::unique_ptr<Evaluator> evaluator;
  std::unique_ptr<WorkerStrategy> strategy;
  std::optional<ModelState> state;
  Stream stream;
  std::vector<StepRecord> trained;  // the steps of the round in flight

 private:
  void score(int64_t step, TimePoint start, Tensor parameters);

  std::optional<Sampler> sampler_;
  ResidualPlan residual_plan_;
  TimePoint begun_;
  Duration evaluation_time_;
};

}  // namespace xdc
