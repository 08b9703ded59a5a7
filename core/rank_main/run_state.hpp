// What do workers and servers compute alike, from the run's specification alone?
#pragma once

#include <cstdint>
#include <string>

#include "core/collectives/exchange.hpp"
#include "core/data/sample_schedule.hpp"
#include "core/optim/optimizer.hpp"
#include "core/rank_main/push_clock.hpp"
#include "core/report/report.hpp"
#include "core/seam/env.hpp"
#include "core/strategies/round.hpp"
#include "core/validate/run_spec.hpp"

namespace xdc {

Optimizer make_optimizer(const RunSpec& spec, const SampleSchedule& schedule);

// True when the run ends with `step` (from 1), by steps, samples or epochs. `time` is not decided here: a worker whose clock
// has reached it, or that was asked to end, when a round begins votes so in that round; nobody applies a round with votes, and everyone
// ends with the round before.
bool stops_after(const StopSpec& stop, const SampleSchedule& schedule, int64_t step);
// The steps that a learning-rate schedule stretches over; 0 when `stop` is a time.
int64_t planned_steps(const StopSpec& stop, const SampleSchedule& schedule);
// The last step, by steps, samples or epochs; kNoLastStep where `stop` is a time.
int64_t last_step(const StopSpec& stop, const SampleSchedule& schedule);
// 1 where this worker wants no further round: its time is up, or it was asked to end (Env::stop).
int64_t votes_to_stop(const Env& env, const RunSpec& spec, Duration elapsed);

// The sum of weights that came with a round against the one that everyone computes. Errors: failed.
Status check_weights(ControlSum total, int64_t weight, int64_t step);

// Writes a range of the plan's elements of the initial parameters; the same on every member. Nothing in a phantom run.
Status initialise(Env& env, const RunSpec& spec, Stream stream, Range range, Tensor parameters);

// Holds a vote: afterwards the applied round is committed; or it is undone because somebody does not have it, and that is
// an error: failed.
Status settle(CommitVote& vote, ModelState& state, Deadline deadline, MemberReport& report);

// Of the little-endian f32 bytes.
Result<std::string> parameters_digest(Env& env, Stream stream, Tensor parameters);

}  // namespace xdc
