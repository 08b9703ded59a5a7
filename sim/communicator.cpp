#include "sim/communicator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>

#include "core/base/quantity.hpp"

namespace xdc {

SimWork::~SimWork() {
  // A killed lane unwinds past its works; their communicator, which goes after them, forgets them.
  if (state_ == State::pending) {
    XDC_CHECK_MSG(std::uncaught_exceptions() > 0, "a work is destroyed before it is finished and its communicator not aborted");
    owner_->ended(*this);
  }
}

void SimWork::finish() { end(State::finished); }

void SimWork::fail(const Error& error) {
  error_ = error;
  failed_at_ = Agenda::now();
  end(State::failed);
}

void SimWork::end(State state) {
  XDC_CHECK(state_ == State::pending);
  state_ = state;
  owner_->ended(*this);
}

std::vector<SimWork*> PendingWorks::all() const {
  std::vector<SimWork*> works;
  works.reserve(size_);
  for (SimWork* work = first_; work != nullptr; work = work->after) {
    works.push_back(work);
  }
  return works;
}

void PendingWorks::add(SimWork& work) {
  work.before = last_;
  (last_ == nullptr ? first_ : last_->after) = &work;
  last_ = &work;
  ++size_;
}

void PendingWorks::remove(SimWork& work) {
  (work.before == nullptr ? first_ : work.before->after) = work.after;
  (work.after == nullptr ? last_ : work.after->before) = work.before;
  work.before = work.after = nullptr;
  --size_;
}

SimCommunicator::SimCommunicator(FabricHub& hub, SimDevice& device, Channel& channel, Rank rank)
    : hub_(hub), device_(device), channel_(channel), rank_(rank), waiter_(hub.agenda) {
  channel_.end(rank_).communicator = this;
}

SimCommunicator::~SimCommunicator() {
  const bool killed = std::uncaught_exceptions() > 0;
  XDC_CHECK_MSG(killed || pending_.empty(), fmt::format("{} is destroyed with {} unfinished works", describe_channel(), pending_.size()));
  leave({ErrorCode::peer_lost, "it has closed its communicator"});
  channel_.end(rank_).communicator = nullptr;
}

WorkPtr SimCommunicator::isend(Rank to, const ControlWords& control, Bytes payload, WireSize wire) {
  XDC_CHECK_MSG(to >= 0 && to < size() && to != rank_, "isend to a rank that is none, or to itself");
  XDC_CHECK(wire.bytes >= 0);
  device_.check_finished(payload, "sent");
  auto work = make_work(to, true);
  if (broken_) {
    work->fail(*broken_);
    return work;
  }
  const Rank actor = channel_.actor_of(to);
  auto& flow = hub_.flow(channel_, rank_, actor);
  if (const auto gone = knows_gone(actor); gone && *gone <= Agenda::now()) {
    work->fail(*channel_.end(actor).gone);
    return work;
  }
  if (to == actor) {
    flow.send(*work, control, payload, wire);
  } else {
    flow.send_alike(*work, control, wire);
  }
  return work;
}

WorkPtr SimCommunicator::irecv(Rank from, ControlWords* control, Bytes payload) {
  XDC_CHECK_MSG(from >= 0 && from < size() && from != rank_, "irecv from a rank that is none, or from itself");
  XDC_CHECK(control != nullptr);
  auto work = make_work(from, false);
  work->control = control;
  work->payload = payload;
  if (broken_) {
    work->fail(*broken_);
    return work;
  }
  const Rank actor = channel_.actor_of(from);
  auto& flow = hub_.flow(channel_, actor, rank_);
  if (const auto gone = knows_gone(actor); gone && *gone <= Agenda::now() && !flow.has_message_for_next(from)) {
    work->fail(*channel_.end(actor).gone);
    return work;
  }
  if (from == actor) {
    flow.receive(*work);
  } else {
    flow.receive_alike(*work);
  }
  return work;
}

Result<size_t> SimCommunicator::wait_any(std::span<Work* const> works, Deadline deadline) {
  XDC_CHECK_MSG(!works.empty(), "wait_any without works");
  if (broken_) {
    return *broken_;
  }
  size_t finished = works.size();
  const SimWork* failed = nullptr;
  const auto ready = [&] {
    failed = nullptr;
    for (size_t i = 0; i < works.size() && !broken_; ++i) {
      const auto* work = static_cast<const SimWork*>(works[i]);
      if (work->state() == SimWork::State::finished) {
        finished = i;
        return true;
      }
      // News from after the deadline are not what this wait is about.
      const bool counts = work->state() == SimWork::State::failed && work->failed_at() <= deadline;
      failed = failed == nullptr && counts ? work : failed;
    }
    return broken_.has_value() || failed != nullptr;
  };
  const auto set_awaited = [&](bool awaited) {
    for (auto* work : works) static_cast<SimWork*>(work)->awaited = awaited;
  };
  const auto began = Agenda::now();
  set_awaited(true);
  const bool woke = waiter_.wait(deadline, ready, [&] { return describe_works(works); });
  set_awaited(false);
  if (broken_) {
    return *broken_;
  }
  if (finished < works.size()) {
    return finished;
  }
  if (woke) {
    const Error error = failed->error();
    break_with(error);
    return error;
  }
  return Error{ErrorCode::timeout,
               fmt::format("{} waited {} for {}", name_of(rank_), format_duration(Agenda::now() - began), describe_works(works))};
}

void SimCommunicator::abort(Error error) { break_with(std::move(error)); }

void SimCommunicator::break_with(Error error) {
  if (broken_) {
    return;
  }
  broken_ = std::move(error);
  leave({ErrorCode::peer_lost, fmt::format("it gave up: {}", broken_->message)});
  waiter_.wake();  // last: its lane may destroy this communicator before the call returns
}

void SimCommunicator::leave(Error told_to_peers) {
  auto& end = channel_.end(rank_);
  if (!end.gone) {
    told_to_peers.message = fmt::format("{} left {}: {}", name_of(rank_), describe_channel(), told_to_peers.message);
    end.gone = std::move(told_to_peers);
    end.since = Agenda::now();
    for (const Rank peer : end.peers) {
      hub_.flow(channel_, peer, rank_).forget_receives();
      hub_.flow(channel_, rank_, peer).forget_sends();
      hub_.plan_news(channel_, rank_, peer);
    }
    hub_.agenda.at(Agenda::now(), [hub = &hub_, channel = &channel_, me = rank_] {
      for (const Rank peer : channel->end(me).peers) {
        hub->flow(*channel, me, peer).cancel_transfer();
      }
    });
  }
  while (!pending_.empty()) {
    pending_.first().fail(broken_ ? *broken_ : *end.gone);
  }
}

void SimCommunicator::hear(Rank gone) {
  if (broken_) {
    return;
  }
  auto& out = hub_.flow(channel_, rank_, gone);
  out.forget_sends();
  out.cancel_transfer();
  hub_.flow(channel_, gone, rank_).drop_expected();
  for (auto* work : pending_.all()) {
    if (channel_.actor_of(work->peer()) == gone) {
      work->fail(*channel_.end(gone).gone);
    }
  }
}

std::optional<TimePoint> SimCommunicator::knows_gone(Rank peer) {
  const auto& end = channel_.end(peer);
  if (!end.gone) {
    return std::nullopt;
  }
  return end.since + hub_.flow(channel_, peer, rank_).latency();
}

void SimCommunicator::ended(SimWork& work) {
  pending_.remove(work);
  if (work.awaited && !broken_) {
    waiter_.wake();
  }
}

std::unique_ptr<SimWork> SimCommunicator::make_work(Rank peer, bool sending) {
  auto work = std::make_unique<SimWork>(*this, peer, sending);
  pending_.add(*work);
  return work;
}

std::string SimCommunicator::name_of(Rank rank) const { return hub_.cluster.describe(channel_.view().members[static_cast<size_t>(rank)]); }

std::string SimCommunicator::describe_channel() const {
  return fmt::format("\"{}\" of view {}", channel_.purpose(), channel_.view().epoch);
}

std::string SimCommunicator::describe_works(std::span<Work* const> works) const {
  constexpr size_t kWorks = 6;
  std::string text;
  for (size_t i = 0; i < std::min(works.size(), kWorks); ++i) {
    const auto* work = static_cast<const SimWork*>(works[i]);
    text += fmt::format("{}a message {} {}", i == 0 ? "" : " or ", work->sending() ? "to" : "from", name_of(work->peer()));
  }
  if (works.size() > kWorks) {
    text += fmt::format(" or {} more", works.size() - kWorks);
  }
  return fmt::format("{} on {}", text, describe_channel());
}

}  // namespace xdc
