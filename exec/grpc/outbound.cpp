#include "exec/grpc/outbound.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "exec/grpc/credentials.hpp"
#include "exec/grpc/inbound.hpp"
#include "exec/grpc/tuning.hpp"

namespace xdc {

namespace {

// After so many connections in a row that were made and closed again at once, the papers are at fault.
constexpr int kRejections = 8;

// What gRPC's reference to lent memory keeps alive.
struct Loan {
  std::shared_ptr<Outbound> owner;
  std::shared_ptr<Operation> operation;
};

void let_go(void* pointer) {
  handed_back_by_grpc(pointer);
  const std::unique_ptr<Loan> loan(static_cast<Loan*>(pointer));
  loan->owner->on_let_go(*loan->operation);
}

std::span<const std::byte> bytes_of(const std::byte* data, size_t n) { return {data, n}; }

// What a phantom sends.
const std::byte* zeros() {
  static const std::vector<std::byte> memory(kChunkBytes);
  return memory.data();
}

}  // namespace

Outbound::Outbound(std::shared_ptr<ChannelState> state, Rank peer, Dial dial)
    : state_(std::move(state)), peer_(peer), dial_(std::move(dial)) {}

Result<std::shared_ptr<Outbound>> Outbound::open(std::shared_ptr<ChannelState> state, Rank peer, Dial dial, Socket socket) {
  auto outbound = std::make_shared<Outbound>(state, peer, std::move(dial));
  auto stream = std::make_shared<OutStream>(outbound, state, 0);
  std::unique_lock lock(state->mutex);
  outbound->streams_.push_back(stream);
  // Before the first answer can come.
  state->out[static_cast<size_t>(peer)] = outbound;
  XDC_TRY(stream->start(lock, std::move(socket)));
  return outbound;
}

bool Outbound::all_over() const {
  return std::all_of(streams_.begin(), streams_.end(), [](const auto& stream) { return stream->over(); });
}

bool Outbound::wants_streams() const { return !ended_ && !severed_ && !state_->broken; }

void Outbound::send(std::unique_lock<std::mutex>& lock, std::shared_ptr<Operation> operation) {
  if (ended_) {
    operation->error = ended_;
    operation->failed_at = state_->clock.now();
    return;
  }
  unsent_bytes_ += operation->size;
  unfinished_.push_back(operation);
  unsent_.push_back(std::move(operation));
  pump(lock);
}

void Outbound::close(std::unique_lock<std::mutex>& lock) {
  closing_ = true;
  pump(lock);
}

void Outbound::sever(std::unique_lock<std::mutex>& lock) {
  severed_ = true;
  const auto streams = streams_;
  for (const auto& stream : streams) {
    stream->sever(lock);
  }
}

std::shared_ptr<OutStream> Outbound::idle_stream() const {
  const auto found = std::find_if(streams_.begin(), streams_.end(), [](const auto& stream) { return stream->ready(); });
  return found == streams_.end() ? nullptr : *found;
}

// Whoever finds a stream without a write under way starts the next.
void Outbound::pump(std::unique_lock<std::mutex>& lock) {
  while (wants_streams()) {
    const std::shared_ptr<OutStream> stream = idle_stream();
    if (!stream) {
      open_another(lock);
      return;
    }
    if (!write_piece(lock, stream)) {
      break;
    }
  }
  if (wants_streams() && closing_ && said_bye_ && kept_.empty()) {
    const auto streams = streams_;
    for (const auto& stream : streams) {
      if (stream->ready()) {
        stream->writes_done(lock);
      } else if (stream->connecting()) {
        stream->sever(lock);
      }
    }
  }
}

// All are busy.
void Outbound::open_another(std::unique_lock<std::mutex>& lock) {
  const bool comes = std::any_of(streams_.begin(), streams_.end(), [](const auto& stream) { return stream->connecting(); });
  if (!accepted_ || comes || unsent_bytes_ < kStreamWorthBytes || static_cast<int>(streams_.size()) >= dial_.line.streams) {
    return;
  }
  const auto stream = std::make_shared<OutStream>(shared_from_this(), state_, static_cast<int>(streams_.size()));
  streams_.push_back(stream);
  XDC_CHECK(stream->start(lock).ok());  // without a socket there is nothing that could fail
}

// False: there is nothing to send for now.
bool Outbound::write_piece(std::unique_lock<std::mutex>& lock, const std::shared_ptr<OutStream>& stream) {
  if (!again_.empty()) {
    Kept& kept = kept_.at(*again_.begin());
    again_.erase(again_.begin());
    kept.stream = stream->index();
    grpc::Slice bytes = kept.bytes;
    stream->write(lock, {&bytes, 1}, false, nullptr);
    return true;
  }
  if (dial_.line.resumes && static_cast<int64_t>(kept_bytes_) >= dial_.line.window_bytes) {
    return false;
  }
  FrameHeader header{FrameKind::bye, state_->view.epoch, 0, 0, 0, {}};
  if (unsent_.empty()) {
    if (!closing_ || said_bye_) {
      return false;
    }
    said_bye_ = true;
    header.sequence = sequence_++;
    write_copied(lock, *stream, nullptr, 0, 0, header, true);
    return true;
  }
  const std::shared_ptr<Operation> operation = unsent_.front();
  const size_t at = operation->done, n = std::min(kChunkBytes, operation->size - at);
  header.kind = at == 0 ? FrameKind::message : FrameKind::more;
  header.sequence = sequence_++;
  header.payload_bytes = operation->size;
  header.control = at == 0 ? operation->control_sent : ControlWords{};
  operation->done += n;
  ++operation->pieces;
  unsent_bytes_ -= n;
  const bool last = operation->done == operation->size;
  if (last) {
    unsent_.pop_front();
  }
  ++operation->borrowed;
  stream->reserve();
  if (dial_.copies() || operation->size <= kCopiedBytes) {
    write_copied(lock, *stream, operation, at, n, header, last);
  } else {
    write_lent(lock, *stream, operation, at, n, header, last);
  }
  return true;
}

void Outbound::write_copied(std::unique_lock<std::mutex>& lock, OutStream& stream, const std::shared_ptr<Operation>& operation, size_t at,
                            size_t n, FrameHeader header, bool last) {
  stream.reserve();
  lock.unlock();
  grpc::Slice piece(kHeaderBytes + n);
  auto* to = const_cast<uint8_t*>(piece.begin());  // ours alone so far
  const std::byte* from = n == 0 || operation->data == nullptr ? zeros() : operation->data + at;
  Checksum checksum(header);
  checksum.update(bytes_of(from, n));
  header.checksum = checksum.value();
  std::memcpy(to, encode(header).data(), kHeaderBytes);
  std::memcpy(to + kHeaderBytes, from, n);
  lock.lock();
  if (operation) {
    // Nothing of the caller's is needed any more for this piece. How much piles up is bounded by the window, or by the write.
    --operation->borrowed;
    operation->written = operation->written || last;
    finish_in_order();
    state_->changed.notify_all();
  }
  const bool goes = stream.usable() && wants_streams();
  if (dial_.line.resumes && wants_streams()) {
    kept_[header.sequence] = {piece, goes ? stream.index() : -1};
    kept_bytes_ += piece.size();
    if (!goes) {
      again_.insert(header.sequence);
    }
  }
  if (!goes) {
    stream.give_back(lock);
    return;
  }
  stream.write(lock, {&piece, 1}, !last, nullptr);
}

void Outbound::write_lent(std::unique_lock<std::mutex>& lock, OutStream& stream, const std::shared_ptr<Operation>& operation, size_t at,
                          size_t n, FrameHeader header, bool last) {
  lock.unlock();
  const std::byte* from = operation->data == nullptr ? zeros() : operation->data + at;
  Checksum checksum(header);
  checksum.update(bytes_of(from, n));
  header.checksum = checksum.value();
  const auto front = encode(header);
  auto* loan = new Loan{shared_from_this(), operation};
  handed_to_grpc(loan);
  std::array<grpc::Slice, 2> slices{grpc::Slice(front.data(), front.size()), grpc::Slice(const_cast<std::byte*>(from), n, &let_go, loan)};
  lock.lock();
  if (stream.usable() && wants_streams()) {
    stream.write(lock, slices, !last, last ? operation : nullptr);
    return;
  }
  lock.unlock();
  slices = {};
  lock.lock();
  stream.give_back(lock);
}

void Outbound::on_written(Operation& operation) {
  operation.written = true;
  finish_in_order();
}

void Outbound::on_let_go(Operation& operation) {
  const std::lock_guard lock(state_->mutex);
  --operation.borrowed;
  finish_in_order();
  state_->changed.notify_all();
}

// In the order of the calls, whatever order gRPC lets go in.
void Outbound::finish_in_order() {
  while (!unfinished_.empty() && unfinished_.front()->written && unfinished_.front()->borrowed == 0) {
    Operation& operation = *unfinished_.front();
    operation.finished = true;
    const auto bytes = static_cast<int64_t>(operation.size);
    state_->traffic.add(state_->view.members[static_cast<size_t>(peer_)], operation.traffic == Traffic::payload ? bytes : 0,
                        bytes + static_cast<int64_t>(kHeaderBytes) * operation.pieces);
    unfinished_.pop_front();
    state_->changed.notify_all();
  }
}

void Outbound::on_accepted(std::unique_lock<std::mutex>& lock, uint64_t received) {
  accepted_ = true;
  rejections_ = 0;
  state_->changed.notify_all();
  on_received(lock, received);
}

void Outbound::on_received(std::unique_lock<std::mutex>& lock, uint64_t received) {
  while (!kept_.empty() && kept_.begin()->first < received) {
    kept_bytes_ -= kept_.begin()->second.bytes.size();
    again_.erase(kept_.begin()->first);
    kept_.erase(kept_.begin());
  }
  pump(lock);
}

void Outbound::on_over(std::unique_lock<std::mutex>& lock, OutStream& stream, const grpc::Status& status, bool was_accepted) {
  for (auto& [sequence, kept] : kept_) {
    if (kept.stream == stream.index()) {
      kept.stream = -1;
      again_.insert(sequence);
    }
  }
  rejections_ = !was_accepted && closed_at_once(status.error_message()) ? rejections_ + 1 : 0;
  if (!ended_) {
    const bool delivered = closing_ && said_bye_ && kept_.empty();
    if (auto error = final_error(status)) {
      left_in_order_ = was_accepted && status.ok();
      end(lock, std::move(*error));
    } else if (!wants_streams() || (delivered && all_over())) {
      end(lock, state_->broken.value_or(describe_end(status)));
    } else if (!delivered) {
      last_loss_ = explain_handshake(status.error_message());
      stream.start_again(lock);
      pump(lock);
    }
  }
  state_->changed.notify_all();
}

Error Outbound::describe_end(const grpc::Status& status) const {
  return {ErrorCode::peer_lost, fmt::format("{}: {} has ended it{}{}", state_->describe_channel(), state_->describe_rank(peer_),
                                            status.error_message().empty() ? "" : ": ", status.error_message())};
}

// nullopt: the line may come back.
std::optional<Error> Outbound::final_error(const grpc::Status& status) const {
  const std::string& said = status.error_message();
  const std::string who = fmt::format("{}: {}", state_->describe_channel(), state_->describe_rank(peer_));
  switch (status.error_code()) {
    case grpc::StatusCode::FAILED_PRECONDITION:
      return Error{ErrorCode::view_changed, fmt::format("{} {}", who, said)};
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      // A peer that gave up waiting for a third is not lost.
      return Error{state_->opened ? ErrorCode::peer_lost : ErrorCode::timeout, describe_end(status).message};
    case grpc::StatusCode::OK:
    case grpc::StatusCode::ABORTED:
    case grpc::StatusCode::UNAUTHENTICATED:
      return describe_end(status);
    default:
      break;
  }
  if (handshake_failed(said)) {
    return Error{ErrorCode::failed, fmt::format("{} at {}: {}", who, dial_.address, explain_handshake(said))};
  }
  if (rejections_ >= kRejections) {
    const char* why = dial_.security != nullptr
                          ? "it refuses our certificate, and its log says why, or it speaks no TLS"
                          : "it speaks TLS, as its log says, and we plaintext (xdc-run --tls), or it is no member of ours";
    return Error{ErrorCode::failed, fmt::format("{} at {} ends every connection at once: {} ({})", who, dial_.address, why, said)};
  }
  if (refused(said)) {
    return Error{ErrorCode::peer_lost, fmt::format("{} is gone: {} refuses connections", who, dial_.address)};
  }
  return dial_.line.resumes ? std::nullopt : std::optional(describe_end(status));
}

void Outbound::end(std::unique_lock<std::mutex>& lock, Error error) {
  ended_ = std::move(error);
  for (const auto& operation : unfinished_) {
    operation->error = ended_;
    operation->failed_at = state_->clock.now();
  }
  unfinished_.clear();
  unsent_.clear();
  kept_.clear();
  again_.clear();
  state_->changed.notify_all();
  const auto peer = static_cast<size_t>(peer_);
  if (!left_in_order_ && dial_.line.resumes && peer < state_->in.size()) {
    // Its streams cannot tell a line that is cut from a peer that is gone; ours can.
    const auto inbound = state_->in[peer];
    inbound->on_peer_lost(lock, *ended_);
  }
  sever(lock);
}

}  // namespace xdc
