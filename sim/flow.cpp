#include "sim/flow.hpp"

#include <fmt/format.h>

#include <cstring>

namespace xdc {
namespace {

constexpr const char* kToldApart =
    "members that one acts for do not do the same at the same moment: the strategy says that they are alike, and they are not";

}  // namespace

void Flow::send(SimWork& work, const ControlWords& control, Bytes payload, WireSize wire) {
  ++sent_;
  messages_.push({control, payload, wire, &work, false, {}, Agenda::now(), {}});
  start_next();
}

void Flow::receive(SimWork& work) {
  expected_.push(&work);
  match();
}

void Flow::send_alike(SimWork& work, const ControlWords& control, WireSize wire) {
  const size_t number = alike_[work.peer()].calls++;
  const size_t oldest = sent_ - messages_.size();
  XDC_CHECK_MSG(number >= oldest && number < sent_, kToldApart);
  auto& message = messages_[number - oldest];
  XDC_CHECK_MSG(message.called == Agenda::now() && message.control == control && message.wire.bytes == wire.bytes, kToldApart);
  message.alike.reserve(static_cast<size_t>(others_receiving()));
  message.alike.push_back(&work);
}

void Flow::receive_alike(SimWork& work) {
  auto& alike = alike_[work.peer()];
  const size_t number = alike.calls++;
  if (number < copied_) {
    take_copy(number, work);
  } else {
    alike.expected.push(&work);
  }
}

void Flow::take_copy(size_t number, SimWork& work) {
  auto& copy = copies_[number - (copied_ - copies_.size())];
  Message message{copy.control, copy.payload, {}, nullptr, false, {}, {}, {}};
  --copy.left;
  while (!copies_.empty() && copies_[0].left == 0) {
    copies_.pop();
  }
  deliver(message, work);
}

bool Flow::has_message_for_next(Rank from) const {
  const auto alike = alike_.find(from);
  return alike == alike_.end() ? expected_.size() < left_ : alike->second.calls < sent_ - messages_.size() + left_;
}

void Flow::drop_expected() {
  expected_.clear();
  for (auto& [rank, alike] : alike_) {
    alike.expected.clear();
  }
}

void Flow::forget_sends() {
  cut_ = true;
  messages_.truncate(left_);
}

void Flow::forget_receives() {
  receiver_gone_ = true;
  drop_expected();
}

void Flow::start_next() {
  if (transferring_ || cut_ || left_ == messages_.size()) {
    return;
  }
  transferring_ = true;  // before the simcall below, during which other lanes run
  started_ = Agenda::now();
  const auto stall =
      path_.tcp == nullptr ? Duration{} : slow_start_.stall(*path_.tcp, Agenda::now(), path_.tcp->wire_bytes(messages_[left_].wire.bytes));
  if (stall > Duration{}) {
    agenda_.at(Agenda::now() + stall, [this] { start_transfer(); });
  } else {
    start_transfer();
  }
}

void Flow::start_transfer() {
  if (!cut_) {
    transfers_.start(path_, path_.wire_bytes(messages_[left_].wire.bytes), *this);
  }
}

void Flow::transfer_finished() {
  transferring_ = false;
  if (cut_) {
    return;
  }
  slow_start_.sent(Agenda::now());
  auto& message = messages_[left_];
  tell(message);
  take_payload(message);
  ++left_;
  // Of each member that this end acts for.
  const int64_t messages = path_.flows() / path_.senders;
  traffic_.messages += messages;
  traffic_.payload_bytes += message.wire.traffic == Traffic::payload ? message.wire.bytes * messages : 0;
  traffic_.wire_bytes += path_.wire_bytes(message.wire.bytes) * messages;
  XDC_CHECK_MSG(static_cast<int>(message.alike.size()) == others_receiving(), kToldApart);
  std::exchange(message.work, nullptr)->finish();
  for (auto* work : std::exchange(message.alike, {})) {
    work->finish();
  }
  agenda_.at(Agenda::now() + path_.latency, [this] { arrived(); });
  start_next();
}

void Flow::tell(const Message& message) const {
  if (watcher_ == nullptr) {
    return;
  }
  (*watcher_)({seen_.from, seen_.to, seen_.channel, started_, Agenda::now(), Agenda::now() + path_.latency, message.control,
               message.payload, message.wire.traffic == Traffic::payload ? message.wire.bytes : 0, path_.wire_bytes(message.wire.bytes),
               path_.flows()});
}

void Flow::take_payload(Message& message) {
  if (message.payload.phantom() || message.payload.size == 0 || receiver_gone_) {
    return;
  }
  const SimWork* receiver = expected_.size() > left_ ? expected_[left_] : nullptr;
  if (receiver != nullptr && receiver->payload.size == message.payload.size && !receiver->payload.phantom()) {
    std::memcpy(receiver->payload.data, message.payload.data, message.payload.size);
    message.placed = true;
  } else {
    message.kept.assign(message.payload.data, message.payload.data + message.payload.size);
  }
}

void Flow::arrived() {
  ++arrived_;
  if (others_sending() > 0 && !receiver_gone_) {
    const auto& message = messages_[arrived_ - 1];
    copies_.push({message.control, message.payload, others_sending()});
    const size_t number = copied_++;
    for (auto& [rank, alike] : alike_) {
      if (!alike.expected.empty()) {
        take_copy(number, *alike.expected.pop());
      }
    }
  }
  match();
}

void Flow::match() {
  while (arrived_ > 0 && (receiver_gone_ || !expected_.empty())) {
    const Message message = messages_.pop();
    --arrived_;
    --left_;
    if (!receiver_gone_) {
      deliver(message, *expected_.pop());
    }
  }
}

void Flow::deliver(const Message& message, SimWork& work) {
  const Bytes& to = work.payload;
  if (to.size != message.payload.size) {
    work.fail({ErrorCode::failed, fmt::format("a message of {} bytes came where {} are expected", message.payload.size, to.size)});
    return;
  }
  if (to.size > 0 && to.phantom() != message.payload.phantom()) {
    work.fail({ErrorCode::failed, fmt::format("a {} payload came where a {} one is expected",
                                              message.payload.phantom() ? "phantom" : "real", to.phantom() ? "phantom" : "real")});
    return;
  }
  if (!message.kept.empty()) {
    std::memcpy(to.data, message.kept.data(), message.kept.size());
  }
  *work.control = message.control;
  work.finish();
}

}  // namespace xdc
