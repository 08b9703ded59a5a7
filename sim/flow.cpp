#include "sim/flow.hpp"

#include <fmt/format.h>

#include <cstring>

namespace xdc {

void Flow::send(SimWork& work, const ControlWords& control, Bytes payload, WireSize wire) {
  messages_.push({control, payload, wire, &work, false, {}});
  start_next();
}

void Flow::receive(SimWork& work) {
  expected_.push(&work);
  match();
}

void Flow::forget_sends() {
  cut_ = true;
  messages_.truncate(left_);
}

void Flow::forget_receives() {
  receiver_gone_ = true;
  expected_.clear();
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
  traffic_.messages += 1;
  traffic_.payload_bytes += message.wire.traffic == Traffic::payload ? message.wire.bytes : 0;
  traffic_.wire_bytes += path_.wire_bytes(message.wire.bytes);
  std::exchange(message.work, nullptr)->finish();
  agenda_.at(Agenda::now() + path_.latency, [this] { arrived(); });
  start_next();
}

void Flow::tell(const Message& message) const {
  if (watcher_ == nullptr) {
    return;
  }
  (*watcher_)({seen_.from, seen_.to, seen_.channel, started_, Agenda::now(), Agenda::now() + path_.latency, message.control,
               message.payload, message.wire.traffic == Traffic::payload ? message.wire.bytes : 0, path_.wire_bytes(message.wire.bytes)});
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
