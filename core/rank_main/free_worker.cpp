#include "core/rank_main/free_worker.hpp"

#include <algorithm>

#include "core/rank_main/exchange_lane.hpp"
#include "core/rank_main/observer.hpp"
#include "core/rank_main/push_clock.hpp"
#include "core/rank_main/trainee.hpp"

namespace xdc {
namespace {

class FreeWorker {
 public:
  FreeWorker(Env& env, const RunSpec& spec, MemberId self, MemberReport& report)
      : trainee_(env, spec, self, report), observer_(trainee_), env_(env), spec_(spec) {}

  Status run() {
    XDC_TRY(trainee_.prepare());
    const Status status = train();
    if (!status.ok()) {
      trainee_.abort(status.error());
      observer_.abort({ErrorCode::peer_lost, status.error().message});
      return status;
    }
    return trainee_.digest();
  }

 private:
  Status train() {
    const int64_t last = last_step(spec_.train.stop, trainee_.schedule);
    ExchangeLane lane(env_, *trainee_.strategy, spec_.plan.buckets.size());
    XDC_TRY(observer_.start(env_.clock.now() + spec_.start_timeout));
    trainee_.begin();
    int64_t taken = 0, last_taken = last;
    for (int64_t number = 1;; ++number) {
      const auto step = next_push(trainee_.schedule, trainee_.self, taken, last);
      if (!step) {
        break;
      }
      const auto next = next_push(trainee_.schedule, trainee_.self, *step, last);
      XDC_TRY_ASSIGN(const bool applied, push(lane, number, *step, taken, patience(*step, next, last)));
      if (!applied) {
        last_taken = taken;
        break;
      }
      taken = *step;
    }
    pass_idle_steps(taken, last_taken);
    XDC_TRY(observer_.finish());
    // The last answers came when everything was applied; the vote says that everyone has got them.
    XDC_TRY(trainee_.vote.lowest_applied(1, env_.clock.now() + spec_.round_timeout).status());
    trainee_.report.rounds_committed = static_cast<int64_t>(trainee_.report.steps.size());
    trainee_.evaluate(trainee_.report.steps.empty() ? 0 : trainee_.report.steps.back().step);
    return ok_status();
  }

  // How long an answer may take: a round's time, as often as the slowest worker may have to take steps first.
  Duration patience(int64_t step, std::optional<int64_t> next, int64_t last) const {
    constexpr int64_t kLongest = 10'000;
    const auto& servers = std::get<ParameterServerSpec>(spec_.plan.spec);
    int64_t rounds = 1;
    if (!next) {
      rounds = last;
    } else if (servers.mode == ServerMode::ssp) {
      rounds += servers.staleness + (*next - step);
    }
    Duration out = spec_.round_timeout * std::min(rounds, kLongest);
    if (spec_.train.stop.time) {
      out = out + *spec_.train.stop.time;
    }
    return out;
  }

  // One step with samples, from the batch to new parameters. False: the time was up when it began, and it is not applied.
  Result<bool> push(ExchangeLane& lane, int64_t number, int64_t step, int64_t taken, Duration patience) {
    pass_idle_steps(taken, step - 1);
    const TimePoint start = env_.clock.now();
    const ControlSum own{trainee_.schedule.samples(trainee_.self, step), votes_to_stop(env_, spec_, trainee_.elapsed())};
    auto& state = *trainee_.state;
    lane.begin({number,
                start + patience,
                own,
                trainee_.gradient->gradient(),
                state.next().parameters,
                {},
                state.applied().residuals,
                state.next().residuals});
    const double share = static_cast<double>(own.samples) / static_cast<double>(trainee_.schedule.total(step));
    const Status computed = trainee_.compute(step, state.applied().parameters, 1.0F / static_cast<float>(own.samples), share,
                                             [&](Event event) { lane.bucket_ready(event); });
    if (!computed.ok()) {
      lane.give_up(computed.error());
      XDC_TRY(lane.finish().status());
      return computed.error();
    }
    XDC_TRY_ASSIGN(const ControlSum echoed, lane.finish());
    ++trainee_.report.rounds_exchanged;
    XDC_TRY(check_weights(echoed, own.samples, number));
    if (own.stop_votes > 0) {
      trainee_.trained.clear();  // nobody applied it: it is no step of the report
      // What came with the answer are the parameters that all end with.
      state.advance();
      return false;
    }
    state.advance();
    state.confirm();
    trainee_.trained.back().end_ns = trainee_.elapsed().ns;
    trainee_.record(start);
    return true;
  }

  // Steps for which this worker has no samples take it no time.
  void pass_idle_steps(int64_t taken, int64_t until) {
    if (until == kNoLastStep) {
      return;
    }
    const TimePoint now = env_.clock.now();
    for (int64_t step = std::max(taken, passed_) + 1; step <= until; ++step) {
      trainee_.trained.push_back({step, trainee_.elapsed().ns, 0, 0, 0, 0});
    }
    passed_ = std::max(passed_, until);
    trainee_.record(now);
  }

  Trainee trainee_;
  Observer observer_;
  Env& env_;
  const RunSpec& spec_;
  int64_t passed_ = 0;  // idle steps that are in the report
};

}  // namespace

Status run_free_worker(Env& env, const RunSpec& spec, MemberId self, MemberReport& report) {
  return FreeWorker(env, spec, self, report).run();
}

}  // namespace xdc
