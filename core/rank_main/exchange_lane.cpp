#include "core/rank_main/exchange_lane.hpp"

#include <utility>

namespace xdc {

ExchangeLane::ExchangeLane(Env& env, WorkerStrategy& strategy, size_t buckets)
    : env_(env),
      strategy_(strategy),
      begin_(env.lanes.make_signal()),
      ready_(env.lanes.make_signal()),
      done_(env.lanes.make_signal()),
      events_(buckets) {
  lane_ = env.lanes.spawn("exchange", [this] { run(); });
}

ExchangeLane::~ExchangeLane() {
  over_ = true;
  begin_->post();
  lane_->join();
}

void ExchangeLane::begin(WorkerRound round) {
  round_ = std::move(round);
  round_.wait_bucket = [this](int bucket) { return wait_bucket(bucket); };
  announced_ = 0;
  begin_->post();
}

void ExchangeLane::bucket_ready(Event event) {
  events_[announced_++] = event;
  ready_->post();
}

void ExchangeLane::give_up(const Error& error) {
  given_up_ = error;
  strategy_.abort(error);
  for (; announced_ < events_.size(); ++announced_) {
    events_[announced_].reset();
    ready_->post();
  }
}

Result<ControlSum> ExchangeLane::finish() {
  XDC_TRY(done_->wait(kNoDeadline));
  return *std::exchange(outcome_, std::nullopt);
}

Status ExchangeLane::wait_bucket(int bucket) {
  // The main lane always announces every bucket or gives up: no deadline of its own.
  XDC_TRY(ready_->wait(kNoDeadline));
  const auto& event = events_[static_cast<size_t>(bucket)];
  if (!event) {
    return given_up_;
  }
  return env_.device.wait(*event, round_.deadline);
}

void ExchangeLane::run() {
  while (begin_->wait(kNoDeadline).ok() && !over_) {
    const TimePoint start = env_.clock.now();
    outcome_ = strategy_.exchange(round_);
    env_.trace.record(start, round_.round, "exchange", {{"duration_ns", (env_.clock.now() - start).ns}});
    done_->post();
  }
}

}  // namespace xdc
