#include "core/rank_main/run_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <vector>

#include "core/base/digest.hpp"
#include "core/model/initialise.hpp"

namespace xdc {

Optimizer make_optimizer(const RunSpec& spec, const SampleSchedule& schedule) {
  return Optimizer(spec.train.optimizer, planned_steps(spec.train.stop, schedule),
                   spec.plan.pushes_freely() ? spec.cluster().workers() : 1);
}

bool stops_after(const StopSpec& stop, const SampleSchedule& schedule, int64_t step) {
  return (stop.steps && step >= *stop.steps) || (stop.samples && schedule.total_until(step) >= *stop.samples) ||
         (stop.epochs && step >= schedule.steps_of_epochs(*stop.epochs));
}

int64_t planned_steps(const StopSpec& stop, const SampleSchedule& schedule) {
  if (stop.steps) {
    return *stop.steps;
  }
  if (stop.epochs) {
    return schedule.steps_of_epochs(*stop.epochs);
  }
  return stop.samples ? schedule.first_step_reaching(*stop.samples) : 0;
}

int64_t last_step(const StopSpec& stop, const SampleSchedule& schedule) {
  const int64_t planned = planned_steps(stop, schedule);
  return planned == 0 ? kNoLastStep : planned;
}

int64_t votes_to_stop(const Env& env, const RunSpec& spec, Duration elapsed) {
  return env.stop.requested() || (spec.train.stop.time && spec.start.elapsed + elapsed >= *spec.train.stop.time) ? 1 : 0;
}

Status check_weights(ControlSum total, int64_t weight, int64_t step) {
  if (total.samples != weight) {
    return Error{ErrorCode::failed,
                 fmt::format("round {}: the contributions that arrived stand for {} samples, but this round has {}: one is missing or "
                             "counted twice, and the round is not applied",
                             step, total.samples, weight)};
  }
  return ok_status();
}

Status initialise(Env& env, const RunSpec& spec, Stream stream, Range range, Tensor parameters) {
  if (parameters.bytes.phantom()) {
    return ok_status();
  }
  std::vector<float> all(static_cast<size_t>(spec.network.parameters));
  initialise_parameters(spec.network, spec.seed, all);
  XDC_TRY_ASSIGN(const auto staging, env.device.allocate(Space::pinned, parameters.bytes.size));
  const int64_t begin = spec.plan.geometry().real(range).begin;
  const auto from = std::as_bytes(std::span(all)).subspan(static_cast<size_t>(begin) * sizeof(float), parameters.bytes.size);
  std::copy(from.begin(), from.end(), staging->bytes().host().begin());
  env.device.copy(stream, parameters.bytes, staging->bytes());
  return env.device.wait(env.device.record(stream), kNoDeadline);
}

Status settle(CommitVote& vote, ModelState& state, Deadline deadline, MemberReport& report) {
  XDC_TRY_ASSIGN(const int64_t lowest, vote.lowest_applied(state.round(), deadline));
  if (lowest < state.round()) {
    const int64_t undone = state.round();
    state.roll_back();
    ++report.rounds_rolled_back;
    return Error{ErrorCode::failed, fmt::format("round {} was applied here but not everywhere, and is undone", undone)};
  }
  state.confirm();
  report.rounds_committed = state.rounds_here();
  return ok_status();
}

Result<std::string> parameters_digest(Env& env, Stream stream, Tensor parameters) {
  XDC_TRY_ASSIGN(const auto staging, env.device.allocate(Space::pinned, parameters.bytes.size));
  env.device.copy(stream, staging->bytes(), parameters.bytes);
  XDC_TRY(env.device.wait(env.device.record(stream), kNoDeadline));
  return digest(std::as_bytes(std::span(staging->bytes().host())));
}

}  // namespace xdc
