#include "core/rank_main/observer.hpp"

#include <utility>

#include "core/strategies/parameter_server_layout.hpp"

namespace xdc {
namespace {

// The first rank and all servers.
View audience(const RunSpec& spec) {
  View view{1, {0}};
  for (const MemberId server : spec.cluster().servers()) {
    view.members.push_back(server);
  }
  return view;
}

constexpr const char* kChannel = "evaluation";

// What a snapshot announces: after which step it is taken, or that none follows.
MessageTag header_tag(int64_t number) { return {number, Phase::snapshot, 0, 0}; }
MessageTag contents_tag(int64_t number) { return {number, Phase::snapshot, 0, 1}; }

// In a channel of a few members ranks are no member ids.
std::function<std::string(Rank)> describing(const RunSpec& spec) {
  return [&spec, view = audience(spec)](Rank rank) { return spec.cluster().describe(view.members[static_cast<size_t>(rank)]); };
}

}  // namespace

bool observes(const RunSpec& spec) { return spec.train.eval_every.has_value(); }

Shown::Shown(Env& env, const RunSpec& spec, Range owned, Stream stream)
    : env_(env), spec_(spec), schedule_(spec.schedule()), owned_(owned), stream_(stream), scratch_(env.device) {}

ExchangeSite Shown::site() { return {env_.device, stream_, *communicator_, scratch_, describing(spec_), spec_.plan.geometry(), {}}; }

Status Shown::connect(Deadline deadline) {
  if (!observes(spec_)) {
    return ok_status();
  }
  XDC_TRY_ASSIGN(copy_, env_.device.allocate(Space::device, static_cast<size_t>(spec_.plan.geometry().real(owned_).count) * 4));
  XDC_TRY_ASSIGN(communicator_, env_.fabric.connect(audience(spec_), kChannel, deadline));
  return ok_status();
}

Status Shown::send_header(bool over) {
  ExchangeSite here = site();
  // The copy, too: what it held must have left.
  XDC_TRY(await_all(here, on_the_way_, env_.clock.now() + spec_.round_timeout));
  on_the_way_.clear();
  const ControlSum words{shown_ * *spec_.train.eval_every, over ? 1 : 0};
  on_the_way_.push_back(send(here, 0, header_tag(shown_), words, {}));
  return ok_status();
}

Status Shown::after(int64_t samples, Tensor parameters) {
  const int64_t last = last_step(spec_.train.stop, schedule_);
  while (communicator_ != nullptr) {
    const int64_t step = (shown_ + 1) * *spec_.train.eval_every;
    if (step >= last || samples < schedule_.total_until(step)) {
      break;
    }
    ++shown_;
    XDC_TRY(send_header(false));
    env_.device.copy(stream_, copy_->bytes(), parameters.bytes);
    ExchangeSite here = site();
    XDC_TRY(xdc::finish(here, kNoDeadline));
    auto transfer = Transfer{};
    transfer.communicator = communicator_.get();
    transfer.sending = true;
    transfer.tag = contents_tag(shown_);
    transfer.work = communicator_->isend(0, to_control(transfer.tag, {}), copy_->bytes(), {0, Traffic::control});
    on_the_way_.push_back(std::move(transfer));
  }
  return ok_status();
}

Status Shown::finish() {
  if (communicator_ == nullptr) {
    return ok_status();
  }
  ++shown_;
  XDC_TRY(send_header(true));
  ExchangeSite here = site();
  return await_all(here, on_the_way_, env_.clock.now() + spec_.round_timeout);
}

void Shown::abort(const Error& error) {
  if (communicator_ != nullptr) {
    communicator_->abort(error);
  }
}

Observer::Observer(Trainee& trainee) : trainee_(trainee), scratch_(trainee.env.device) {}

Observer::~Observer() {
  if (lane_ != nullptr) {
    abort({ErrorCode::aborted, "the evaluating rank ends"});
    lane_->join();
  }
}

Status Observer::start(Deadline deadline) {
  if (!trainee_.first || !observes(trainee_.spec)) {
    return ok_status();
  }
  XDC_TRY_ASSIGN(parameters_,
                 trainee_.env.device.allocate(Space::device, static_cast<size_t>(trainee_.spec.plan.geometry().real()) * sizeof(float)));
  XDC_TRY_ASSIGN(communicator_, trainee_.env.fabric.connect(audience(trainee_.spec), kChannel, deadline));
  lane_ = trainee_.env.lanes.spawn("evaluation", [this] { outcome_ = watch(); });
  return ok_status();
}

// Whoever trains has deadlines, and breaks this channel when it gives up.
Status Observer::watch() {
  const auto& spec = trainee_.spec;
  ExchangeSite site{trainee_.env.device,
                    trainee_.env.device.make_stream("snapshot"),
                    *communicator_,
                    scratch_,
                    describing(spec),
                    spec.plan.geometry(),
                    {}};
  const Tensor whole = Tensor::flat(parameters_->bytes(), DType::f32, spec.plan.geometry().real());
  const ServerLayout layout(spec.plan);
  std::vector<Range> ranges;
  for (size_t s = 0; s < layout.servers().size(); ++s) {
    ranges.push_back(layout.shard(static_cast<int>(s)));
  }
  for (int64_t number = 1;; ++number) {
    AgreedSum words;
    std::vector<Transfer> headers, contents;
    for (size_t s = 0; s < ranges.size(); ++s) {
      headers.push_back(receive(site, static_cast<Rank>(s) + 1, header_tag(number), {}));
    }
    for (Transfer& header : headers) {
      XDC_TRY_ASSIGN(const ControlSum one, await(site, header, kNoDeadline));
      XDC_TRY(words.meet(one));
    }
    if (words.value()->stop_votes > 0) {
      return ok_status();
    }
    for (size_t s = 0; s < ranges.size(); ++s) {
      contents.push_back(
          receive(site, static_cast<Rank>(s) + 1, contents_tag(number), plain(ranges[s], site.geometry.slice(whole, ranges[s]))));
    }
    XDC_TRY(await_all(site, contents, kNoDeadline));
    if (trainee_.evaluates()) {
      trainee_.evaluate_aside(words.value()->samples, whole);
    }
  }
}

Status Observer::finish() {
  if (lane_ != nullptr) {
    std::exchange(lane_, nullptr)->join();
  }
  return outcome_;
}

void Observer::abort(const Error& error) {
  if (communicator_ != nullptr) {
    communicator_->abort(error);
  }
}

}  // namespace xdc
