#include "exec/grpc/inbound.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "exec/grpc/protocol.hpp"
#include "exec/grpc/tuning.hpp"

namespace xdc {

void Inbound::listen(grpc::AsyncGenericService& service, grpc::ServerCompletionQueue* queue) {
  service.RequestCall(&context_, &call_, queue, queue, arrived_tag_.start(shared_from_this()));
}

void Inbound::on_arrived(bool ok) { arrived_(shared_from_this(), ok); }

std::optional<Inbound::Caller> Inbound::caller() const {
  const auto& metadata = context_.client_metadata();
  const auto text = [&metadata](const char* key) -> std::optional<std::string> {
    const auto found = metadata.find(key);
    return found == metadata.end() ? std::nullopt : std::optional(std::string(found->second.data(), found->second.size()));
  };
  const auto number = [&text](const char* key, auto& value) {
    const auto digits = text(key);
    return digits && std::from_chars(digits->data(), digits->data() + digits->size(), value).ptr == digits->data() + digits->size();
  };
  const auto run = text(kRunKey), purpose = text(kPurposeKey), members = text(kMembersKey);
  Caller caller;
  if (context_.method() != kStreamMethod || !run || !purpose || !members || !number(kEpochKey, caller.epoch) ||
      !number(kFromKey, caller.from) || !number(kToKey, caller.to)) {
    return std::nullopt;
  }
  caller.run = *run;
  caller.purpose = *purpose;
  caller.members_digest = *members;
  return caller;
}

void Inbound::finish(const grpc::Status& why) {
  if (!finishing_.exchange(true)) {
    call_.Finish(why, finished_tag_.start(shared_from_this()));
  }
}

void Inbound::assign(std::shared_ptr<ChannelState> state, Rank peer) {
  state_ = std::move(state);
  peer_ = peer;
}

void Inbound::accept() {
  context_.AddInitialMetadata(kAcceptedKey, "1");
  call_.SendInitialMetadata(accepted_tag_.start(shared_from_this()));
}

void Inbound::on_accepted(bool ok) {
  std::unique_lock lock(state_->mutex);
  phase_ = ok ? Phase::open : Phase::over;
  if (!ok) {
    end(ErrorCode::peer_lost, "has gone while the channel was opened");
  }
  drain(lock);
}

void Inbound::receive(std::unique_lock<std::mutex>& lock, std::shared_ptr<Operation> operation) {
  posted_.push_back(std::move(operation));
  drain(lock);
}

void Inbound::on_read(bool ok) {
  std::vector<grpc::Slice> slices;
  if (ok && !message_.Dump(&slices).ok()) {
    slices.clear();
  }
  message_.Clear();
  std::unique_lock lock(state_->mutex);
  reading_ = false;
  phase_ = ok ? phase_ : Phase::over;
  for (grpc::Slice& slice : slices) {
    unclaimed_ += slice.size();
    arrived_slices_.push_back(std::move(slice));
  }
  // Before copying, so that the next chunk comes in meanwhile.
  read_more(lock);
  drain(lock);
  if (!ok) {
    lock.unlock();
    finish(grpc::Status::OK);  // answers a good-bye; a peer that is gone does not mind
  }
}

// One lane or thread drains at a time; what others add meanwhile it sees before it stops.
void Inbound::drain(std::unique_lock<std::mutex>& lock) {
  if (draining_) {
    return;
  }
  draining_ = true;
  while (advance(lock)) {
  }
  draining_ = false;
  read_more(lock);
}

// False when nothing more can be done for now.
bool Inbound::advance(std::unique_lock<std::mutex>& lock) {
  if (state_->closed || state_->broken) {
    posted_.clear();
    return false;
  }
  if (!ended_ && !header_ && unclaimed_ >= kHeaderBytes) {
    return take_header();
  }
  if (!ended_ && !header_ && phase_ == Phase::over) {
    end(ErrorCode::peer_lost, "is gone");
  }
  if (posted_.empty()) {
    return false;
  }
  const std::shared_ptr<Operation> operation = posted_.front();
  if (!ended_ && header_ && operation->phantom) {
    operation->size = header_->payload_bytes;  // a phantom takes what is charged for it
  }
  if (!ended_ && header_ && header_->payload_bytes != operation->size) {
    end(ErrorCode::failed, fmt::format("sent a payload of {} bytes where {} were expected", header_->payload_bytes, operation->size));
  }
  if (!ended_ && header_ && operation->done == operation->size) {
    if (operation->control_received != nullptr) {
      *operation->control_received = header_->control;
    }
    operation->finished = true;
    header_.reset();
    posted_.pop_front();
    state_->changed.notify_all();
    return true;
  }
  if (!ended_ && header_ && unclaimed_ > 0) {
    take_payload(lock, *operation);
    return true;
  }
  if (!ended_ && phase_ == Phase::over) {
    end(ErrorCode::peer_lost, "is gone in the middle of a message");
  }
  if (!ended_) {
    return false;
  }
  operation->error = ended_;
  operation->failed_at = state_->clock.now();
  posted_.pop_front();
  state_->changed.notify_all();
  return true;
}

bool Inbound::take_header() {
  std::array<std::byte, kHeaderBytes> bytes;
  for (size_t filled = 0; filled < bytes.size();) {
    const grpc::Slice& front = arrived_slices_.front();
    const size_t n = std::min(bytes.size() - filled, front.size() - front_taken_);
    std::memcpy(bytes.data() + filled, front.begin() + front_taken_, n);
    filled += n;
    front_taken_ += n;
    if (front_taken_ == front.size()) {
      arrived_slices_.pop_front();
      front_taken_ = 0;
    }
  }
  unclaimed_ -= bytes.size();
  header_ = decode(bytes);
  if (!header_ || header_->sequence != sequence_++) {
    header_.reset();
    end(ErrorCode::failed, "sent bytes that are no message of this protocol");
  } else if (header_->kind == FrameKind::bye) {
    header_.reset();
    end(ErrorCode::peer_lost, "has closed it");
  }
  return true;
}

void Inbound::take_payload(std::unique_lock<std::mutex>& lock, Operation& operation) {
  const bool whole = arrived_slices_.front().size() - front_taken_ <= operation.size - operation.done;
  const size_t n = whole ? arrived_slices_.front().size() - front_taken_ : operation.size - operation.done;
  grpc::Slice slice = arrived_slices_.front();  // a reference more
  const size_t from = front_taken_;
  std::byte* to = operation.phantom ? nullptr : operation.data + operation.done;
  front_taken_ += n;
  grpc::Slice used_up;
  if (whole) {
    used_up = std::move(arrived_slices_.front());
    arrived_slices_.pop_front();
    front_taken_ = 0;
  }
  unclaimed_ -= n;
  ++operation.borrowed;
  lock.unlock();
  if (n > 0 && to != nullptr) {
    std::memcpy(to, slice.begin() + from, n);
  }
  slice = grpc::Slice();
  used_up = grpc::Slice();
  lock.lock();
  --operation.borrowed;
  operation.done += n;
  if (state_->broken || state_->closed) {
    state_->changed.notify_all();  // whoever destroys the work waits for this copy
  }
}

void Inbound::read_more(std::unique_lock<std::mutex>& lock) {
  if (phase_ != Phase::open || reading_ || unclaimed_ >= kUnclaimedBytes || state_->closed) {
    return;
  }
  reading_ = true;
  lock.unlock();
  call_.Read(&message_, read_tag_.start(shared_from_this()));
  lock.lock();
}

void Inbound::end(ErrorCode code, const std::string& why) {
  ended_ = Error{code, fmt::format("{}: {} {}", state_->describe_channel(), state_->describe_rank(peer_), why)};
  state_->changed.notify_all();
}

}  // namespace xdc
