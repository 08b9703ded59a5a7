#include "exec/grpc/in_stream.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "exec/grpc/credentials.hpp"
#include "exec/grpc/inbound.hpp"
#include "exec/grpc/protocol.hpp"

namespace xdc {

namespace {

// What a gRPC message holds, checked. nullopt: it is none of ours, or damaged.
std::optional<Piece> piece_of(const grpc::ByteBuffer& message) {
  std::vector<grpc::Slice> slices;
  if (!message.Dump(&slices).ok()) {
    return std::nullopt;
  }
  std::array<std::byte, kHeaderBytes> bytes;
  Piece piece;
  size_t filled = 0;
  while (filled < bytes.size() && piece.slice < slices.size()) {
    const grpc::Slice& front = slices[piece.slice];
    const size_t n = std::min(bytes.size() - filled, front.size());
    std::memcpy(bytes.data() + filled, front.begin(), n);
    filled += n;
    piece.offset = n == front.size() ? 0 : n;
    piece.slice += n == front.size() ? 1 : 0;
  }
  const auto header = filled == bytes.size() ? decode(bytes) : std::nullopt;
  if (!header) {
    return std::nullopt;
  }
  piece.header = *header;
  Checksum checksum(*header);
  for (size_t i = piece.slice; i < slices.size(); ++i) {
    const size_t from = i == piece.slice ? piece.offset : 0;
    const size_t n = slices[i].size() - from;
    checksum.update({reinterpret_cast<const std::byte*>(slices[i].begin()) + from, n});
    piece.left += n;
  }
  piece.slices = std::move(slices);
  return checksum.value() == header->checksum ? std::optional(std::move(piece)) : std::nullopt;
}

}  // namespace

void InStream::listen(grpc::AsyncGenericService& service, grpc::ServerCompletionQueue* queue) {
  service.RequestCall(&context_, &call_, queue, queue, arrived_tag_.start(shared_from_this()));
}

void InStream::on_arrived(bool ok) { arrived_(shared_from_this(), ok); }

std::optional<InStream::Caller> InStream::caller() const {
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
      !number(kFromKey, caller.from) || !number(kToKey, caller.to) || !number(kStreamKey, caller.stream)) {
    return std::nullopt;
  }
  caller.run = *run;
  caller.purpose = *purpose;
  caller.members_digest = *members;
  caller.names = peer_names(*context_.auth_context());
  return caller;
}

void InStream::finish(const grpc::Status& why) {
  if (!finishing_.exchange(true)) {
    call_.Finish(why, finished_tag_.start(shared_from_this()));
  }
}

void InStream::assign(std::shared_ptr<ChannelState> state, std::shared_ptr<Inbound> owner, int index) {
  state_ = std::move(state);
  owner_ = std::move(owner);
  index_ = index;
}

void InStream::accept(uint64_t received) {
  told_ = to_tell_ = received;
  context_.AddInitialMetadata(kAcceptedKey, std::to_string(received));
  call_.SendInitialMetadata(accepted_tag_.start(shared_from_this()));
}

void InStream::on_accepted(bool ok) {
  std::unique_lock lock(state_->mutex);
  open_ = ok;
  if (!ok) {
    over_ = true;
    owner_->on_stream_over(lock, *this, "has gone while the channel was opened");
    return;
  }
  read_more(lock);
}

void InStream::read_more(std::unique_lock<std::mutex>& lock) {
  if (!open_ || over_ || reading_ || state_->closed || !owner_->wants_more()) {
    return;
  }
  reading_ = true;
  lock.unlock();
  call_.Read(&message_, read_tag_.start(shared_from_this()));
  lock.lock();
}

void InStream::on_read(bool ok) {
  std::optional<Piece> piece;
  if (ok) {
    piece = piece_of(message_);
    message_.Clear();
  }
  std::unique_lock lock(state_->mutex);
  reading_ = false;
  if (piece) {
    owner_->take(lock, *this, std::move(*piece));
    return;
  }
  over_ = true;
  owner_->on_stream_over(lock, *this, ok ? "sent bytes that are no message of this protocol, or were damaged on the way" : "is gone");
  lock.unlock();
  // Ends in good order what the peer has ended; a peer that is gone does not mind. What was damaged it sends again.
  finish(ok ? grpc::Status(grpc::StatusCode::DATA_LOSS, "a piece was damaged on the way") : grpc::Status::OK);
}

void InStream::tell_received(std::unique_lock<std::mutex>& lock, uint64_t pieces) {
  to_tell_ = std::max(to_tell_, pieces);
  if (!open_ || over_ || telling_ || to_tell_ == told_ || finishing_) {
    return;
  }
  telling_ = true;
  told_ = to_tell_;
  FrameHeader header{FrameKind::received, state_->view.epoch, told_, 0, 0, {}};
  lock.unlock();
  const auto bytes = encode(header);
  grpc::Slice slice(bytes.data(), bytes.size());
  const grpc::ByteBuffer message(&slice, 1);
  call_.Write(message, told_tag_.start(shared_from_this()));
  lock.lock();
}

void InStream::on_told(bool ok) {
  std::unique_lock lock(state_->mutex);
  telling_ = false;
  if (ok) {
    tell_received(lock, to_tell_);
  }
}

}  // namespace xdc
