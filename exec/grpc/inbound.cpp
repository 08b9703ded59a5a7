#include "exec/grpc/inbound.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "exec/grpc/tuning.hpp"

namespace xdc {

std::shared_ptr<InStream> Inbound::attach(const std::shared_ptr<InStream>& stream) {
  attached_ = true;
  return std::exchange(streams_[stream->index()], stream);
}

std::vector<std::shared_ptr<InStream>> Inbound::streams() const {
  std::vector<std::shared_ptr<InStream>> all;
  for (const auto& [index, stream] : streams_) {
    all.push_back(stream);
  }
  return all;
}

void Inbound::receive(std::unique_lock<std::mutex>& lock, std::shared_ptr<Operation> operation) {
  posted_.push_back(std::move(operation));
  drain(lock);
}

void Inbound::on_peer_lost(std::unique_lock<std::mutex>& lock, const Error& error) {
  lost_ = lost_ ? lost_ : error;
  drain(lock);
}

void Inbound::on_stream_over(std::unique_lock<std::mutex>& lock, InStream& stream, const std::string& why) {
  if (const auto found = streams_.find(stream.index()); found != streams_.end() && found->second.get() == &stream) {
    streams_.erase(found);
  }
  // A line that resumes comes back, or its other direction tells that the peer is gone.
  if (!resumes_ && !lost_) {
    lost_ = Error{ErrorCode::peer_lost, describe(why)};
  }
  drain(lock);
}

void Inbound::take(std::unique_lock<std::mutex>& lock, InStream& stream, Piece piece) {
  const uint64_t sequence = piece.header.sequence;
  const bool in_order = sequence == next_;
  if (piece.header.epoch != state_.view.epoch || piece.header.kind == FrameKind::received) {
    end(ErrorCode::failed, fmt::format("sent a piece of view {}, which is refused", piece.header.epoch));
  } else if (!in_order && !resumes_) {
    end(ErrorCode::failed, "sent bytes that are no message of this protocol");
  } else if (in_order) {
    put_in_order(std::move(piece));
    for (auto next = ahead_.find(next_); next != ahead_.end(); next = ahead_.find(next_)) {
      ahead_bytes_ -= next->second.left;
      put_in_order(std::move(next->second));
      ahead_.erase(next);
    }
  } else if (sequence > next_ && !ahead_.contains(sequence)) {
    ahead_bytes_ += piece.left;
    ahead_.emplace(sequence, std::move(piece));
    if (ahead_bytes_ > kMaxAheadBytes) {
      end(ErrorCode::failed, "sends ahead without end");
    }
  }
  const bool said_bye = !pieces_.empty() && pieces_.back().header.kind == FrameKind::bye;
  if (resumes_ && next_ != told_ && (said_bye || untold_bytes_ >= kReceivedBytes || next_ - told_ >= kReceivedPieces)) {
    told_ = next_;
    untold_bytes_ = 0;
    stream.tell_received(lock, next_);
  }
  // Before copying, so that the next piece comes in meanwhile.
  stream.read_more(lock);
  drain(lock);
}

void Inbound::put_in_order(Piece piece) {
  ++next_;
  unclaimed_ += piece.left;
  untold_bytes_ += piece.left;
  pieces_.push_back(std::move(piece));
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
  if (state_.closed || state_.broken) {
    posted_.clear();
    return false;
  }
  if (!ended_ && !message_ && !pieces_.empty()) {
    return begin_message();
  }
  if (!ended_ && lost_ && pieces_.empty()) {
    ended_ = lost_;
    state_.changed.notify_all();
  }
  if (posted_.empty()) {
    return false;
  }
  const std::shared_ptr<Operation> operation = posted_.front();
  if (!ended_ && message_ && !operation->phantom && message_->payload_bytes != operation->size) {
    end(ErrorCode::failed, fmt::format("sent a payload of {} bytes where {} were expected", message_->payload_bytes, operation->size));
  }
  if (!ended_ && message_ && operation->phantom) {
    operation->size = message_->payload_bytes;  // a phantom takes what is charged for it
  }
  if (!ended_ && message_ && operation->done == operation->size) {
    finish_message(*operation);
    return true;
  }
  if (!ended_ && message_ && !pieces_.empty()) {
    take_payload(lock, *operation);
    return true;
  }
  if (!ended_) {
    return false;
  }
  operation->error = ended_;
  operation->failed_at = state_.clock.now();
  posted_.pop_front();
  state_.changed.notify_all();
  return true;
}

// Its first piece stays where it is, for its contents.
bool Inbound::begin_message() {
  Piece& front = pieces_.front();
  if (front.header.kind == FrameKind::bye) {
    end(ErrorCode::peer_lost, "has closed it");
    pieces_.pop_front();
  } else if (front.header.kind != FrameKind::message) {
    end(ErrorCode::failed, "sent bytes that are no message of this protocol");
  } else {
    message_ = front.header;
    front.header.kind = FrameKind::more;
  }
  return true;
}

void Inbound::finish_message(Operation& operation) {
  if (!pieces_.empty() && pieces_.front().header.kind == FrameKind::more && pieces_.front().left == 0) {
    pieces_.pop_front();  // of an empty payload
  }
  if (operation.control_received != nullptr) {
    *operation.control_received = message_->control;
  }
  operation.finished = true;
  message_.reset();
  posted_.pop_front();
  state_.changed.notify_all();
}

void Inbound::take_payload(std::unique_lock<std::mutex>& lock, Operation& operation) {
  Piece piece = std::move(pieces_.front());
  pieces_.pop_front();
  if (piece.header.kind != FrameKind::more || piece.left == 0 || piece.left > operation.size - operation.done) {
    end(ErrorCode::failed, "sent bytes that are no message of this protocol");
    return;
  }
  const size_t n = piece.left;
  unclaimed_ -= n;
  ++operation.borrowed;
  std::byte* to = operation.data == nullptr ? nullptr : operation.data + operation.done;
  lock.unlock();
  for (size_t i = piece.slice; to != nullptr && i < piece.slices.size(); ++i) {
    const size_t from = i == piece.slice ? piece.offset : 0;
    const size_t size = piece.slices[i].size() - from;
    if (size > 0) {
      std::memcpy(to, piece.slices[i].begin() + from, size);
    }
    to += size;
  }
  piece.slices.clear();
  lock.lock();
  --operation.borrowed;
  operation.done += n;
  if (state_.broken || state_.closed) {
    state_.changed.notify_all();  // whoever destroys the work waits for this copy
  }
}

void Inbound::read_more(std::unique_lock<std::mutex>& lock) {
  for (auto at = streams_.begin(); at != streams_.end();) {
    const std::shared_ptr<InStream> stream = at->second;
    stream->read_more(lock);  // may let go of the lock
    at = streams_.upper_bound(stream->index());
  }
}

void Inbound::end(ErrorCode code, const std::string& why) {
  ended_ = Error{code, describe(why)};
  state_.changed.notify_all();
}

std::string Inbound::describe(const std::string& why) const {
  return fmt::format("{}: {} {}", state_.describe_channel(), state_.describe_rank(peer_), why);
}

}  // namespace xdc
