#include "core/rank_main/server.hpp"

#include <fmt/format.h>

#include "core/rank_main/push_server.hpp"
#include "core/rank_main/run_state.hpp"
#include "core/strategies/registry.hpp"
#include "core/strategies/round.hpp"

namespace xdc {
namespace {

Status serve(Env& env, const RunSpec& spec, ServerStrategy& strategy, CommitVote& vote, ModelState& state, const SampleSchedule& schedule,
             Stream stream, Checkpoints* checkpoints, MemberReport& report) {
  const SavedState saved{&state, stream, true};
  if (checkpoints != nullptr) XDC_TRY(checkpoints->load(saved));
  const TimePoint begun = env.clock.now();
  const bool over = spec.start.step > 0 && stops_after(spec.train.stop, schedule, spec.start.step);
  for (int64_t step = state.round() + 1; !over; ++step) {
    const auto& before = state.applied();
    const auto& after = state.next();
    // A server waits for workers that compute: it has no time of its own, and the workers' round deadline covers it twice.
    const Deadline deadline = env.clock.now() + spec.round_timeout * 2;
    XDC_TRY_ASSIGN(const ControlSum total,
                   strategy.serve({step, deadline, before.parameters, after.parameters, before.optimizer, after.optimizer}));
    ++report.rounds_exchanged;
    state.confirm();
    report.rounds_committed = state.rounds_here();
    XDC_TRY(check_weights(total, schedule.total(step), step));
    if (total.stop_votes > 0) {
      break;
    }
    state.advance();
    const bool last = stops_after(spec.train.stop, schedule, step);
    if (spec.commit_by_vote && !last) {
      XDC_TRY(settle(vote, state, env.clock.now() + spec.round_timeout, report));
    }
    if (last) {
      break;
    }
    if (checkpoints != nullptr && checkpoints->due(step - 1, step)) {
      XDC_TRY(settle(vote, state, env.clock.now() + spec.round_timeout, report));
      XDC_TRY(checkpoints->save(saved, step, env.clock.now() - begun, nullptr));
    }
  }
  XDC_TRY(settle(vote, state, env.clock.now() + spec.round_timeout, report));
  if (checkpoints != nullptr && state.round() > checkpoints->last_saved()) {
    XDC_TRY(checkpoints->save(saved, state.round(), env.clock.now() - begun, nullptr));
  }
  return ok_status();
}

}  // namespace

Status run_server(Env& env, const RunSpec& spec, MemberId self, MemberReport& report, Checkpoints* checkpoints) {
  if (spec.plan.pushes_freely()) {
    return run_push_server(env, spec, self, report);
  }
  const SampleSchedule schedule = spec.schedule();
  const Optimizer optimizer = make_optimizer(spec, schedule);
  const auto strategy = strategy_of(spec.plan.spec).make_server(spec.plan, optimizer, env, self);
  const Range owned = strategy->owned();
  const Stream stream = env.device.make_stream("state");
  XDC_TRY_ASSIGN(auto state,
                 ModelState::make(env.device, spec.plan.geometry().real(owned).count, optimizer.state_tensors(), spec.state_sets()));
  XDC_TRY(initialise(env, spec, stream, owned, state.applied().parameters));
  CommitVote vote(spec.cluster(), env);
  const Deadline deadline = env.clock.now() + spec.start_timeout;
  const View everyone = spec.cluster().everyone(1);
  XDC_TRY(strategy->connect(everyone, deadline));
  XDC_TRY(vote.connect(everyone, deadline));
  const Status status = serve(env, spec, *strategy, vote, state, schedule, stream, checkpoints, report);
  if (!status.ok()) {
    strategy->abort({ErrorCode::peer_lost, status.error().message});
    vote.abort({ErrorCode::peer_lost, status.error().message});
    return status;
  }
  // Who holds all parameters holds what the workers hold; a shard has nothing to be compared with.
  if (spec.payload == PayloadKind::real && owned.count == spec.plan.parameters) {
    XDC_TRY_ASSIGN(report.parameters_digest, parameters_digest(env, stream, state.applied().parameters));
  }
  return ok_status();
}

}  // namespace xdc
