#include "core/rank_main/push_server.hpp"

#include "core/rank_main/observer.hpp"
#include "core/rank_main/push_clock.hpp"
#include "core/rank_main/run_state.hpp"
#include "core/strategies/registry.hpp"

namespace xdc {
namespace {

std::optional<int64_t> bound_of(const StrategyPlan& plan) {
  const auto& servers = std::get<ParameterServerSpec>(plan.spec);
  return servers.mode == ServerMode::ssp ? std::optional(servers.staleness) : std::nullopt;
}

class PushServerLoop {
 public:
  PushServerLoop(Env& env, const RunSpec& spec, MemberId self, MemberReport& report)
      : env_(env),
        spec_(spec),
        report_(report),
        schedule_(spec.schedule()),
        optimizer_(make_optimizer(spec, schedule_)),
        last_(last_step(spec.train.stop, schedule_)),
        clock_(schedule_, last_, bound_of(spec.plan)),
        read_(static_cast<size_t>(spec.cluster().workers())),
        vote_(spec.cluster(), env),
        stream_(env.device.make_stream("state")),
        server_(strategy_of(spec.plan.spec).make_push_server(spec.plan, optimizer_, env, self)),
        shown_(env, spec, server_->owned(), stream_) {}

  Status run() {
    XDC_TRY(prepare());
    const Status status = serve();
    if (!status.ok()) {
      const Error told{ErrorCode::peer_lost, status.error().message};
      server_->abort(told);
      shown_.abort(told);
      vote_.abort(told);
      return status;
    }
    if (spec_.payload == PayloadKind::real && server_->owned().count == spec_.plan.parameters) {
      XDC_TRY_ASSIGN(report_.parameters_digest, parameters_digest(env_, stream_, state_->applied().parameters));
    }
    return ok_status();
  }

 private:
  Status prepare() {
    const Range owned = server_->owned();
    // Before and after an update: nobody returns to what was before, so there is no third.
    XDC_TRY_ASSIGN(auto state, ModelState::make(env_.device, spec_.plan.geometry().real(owned).count, optimizer_.state_tensors(), 2));
    state_.emplace(std::move(state));
    XDC_TRY(initialise(env_, spec_, stream_, owned, state_->applied().parameters));
    std::vector<int64_t> pushes;
    for (int worker = 0; worker < schedule_.ranks(); ++worker) {
      pushes.push_back(pushes_until(schedule_, worker, last_));
    }
    const Deadline deadline = env_.clock.now() + spec_.start_timeout;
    const View everyone = spec_.cluster().everyone(1);
    // As in synchronous rounds: the workers' own deadlines come first.
    XDC_TRY(server_->connect(everyone, std::move(pushes), spec_.round_timeout * 2, deadline));
    XDC_TRY(vote_.connect(everyone, deadline));
    return shown_.connect(deadline);
  }

  Status serve() {
    while (!clock_.all_ended()) {
      XDC_TRY_ASSIGN(const Push push, server_->take());
      ++report_.rounds_exchanged;
      if (push.own.stop_votes > 0) {
        clock_.ended(push.worker);
      } else {
        XDC_TRY(apply(push));
        clock_.applied(push.worker);
      }
      waiting_.push_back(push);
      XDC_TRY(answer());
    }
    XDC_TRY(server_->finish(env_.clock.now() + spec_.round_timeout));
    XDC_TRY(shown_.finish());
    XDC_TRY(vote_.lowest_applied(1, env_.clock.now() + spec_.round_timeout).status());
    report_.rounds_committed = updates_;
    return ok_status();
  }

  Status apply(const Push& push) {
    const Deadline deadline = env_.clock.now() + spec_.round_timeout;
    const auto& before = state_->applied();
    const auto& after = state_->next();
    XDC_TRY(server_->apply(push, {updates_ + 1, deadline, before.parameters, after.parameters, before.optimizer, after.optimizer}));
    state_->advance();
    state_->confirm();
    const auto staleness = static_cast<size_t>(updates_ - read_[static_cast<size_t>(push.worker)]);
    if (report_.staleness.size() <= staleness) {
      report_.staleness.resize(staleness + 1);
    }
    ++report_.staleness[staleness];
    report_.applied.push_back(push.worker);
    ++updates_;
    samples_ += push.own.samples;
    return shown_.after(samples_, state_->applied().parameters);
  }

  // Whoever may go on does, in the order of arrival; who has ended waits for the parameters that all end with.
  Status answer() {
    const bool over = clock_.all_ended();
    std::vector<Push> still;
    for (const Push& push : waiting_) {
      if (!over && !clock_.may_go_on(push.worker)) {
        still.push_back(push);
        continue;
      }
      read_[static_cast<size_t>(push.worker)] = updates_;
      XDC_TRY(server_->answer(push, state_->applied().parameters, env_.clock.now() + spec_.round_timeout));
    }
    waiting_ = std::move(still);
    return ok_status();
  }

  Env& env_;
  const RunSpec& spec_;
  MemberReport& report_;
  const SampleSchedule schedule_;
  const Optimizer optimizer_;
  const int64_t last_;
  PushClock clock_;
  std::vector<int64_t> read_;  // by worker: updates in the parameters it computes with
  std::vector<Push> waiting_;  // not answered yet, in the order of arrival
  int64_t updates_ = 0, samples_ = 0;
  CommitVote vote_;
  Stream stream_;
  std::optional<ModelState> state_;
  std::unique_ptr<PushServer> server_;
  Shown shown_;
};

}  // namespace

Status run_push_server(Env& env, const RunSpec& spec, MemberId self, MemberReport& report) {
  return PushServerLoop(env, spec, self, report).run();
}

}  // namespace xdc
