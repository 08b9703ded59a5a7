#include "exec/grpc/outbound.hpp"

#include <fmt/format.h>
#include <grpcpp/create_channel_posix.h>

#include <algorithm>
#include <cstring>

#include "exec/grpc/protocol.hpp"
#include "exec/grpc/tuning.hpp"

namespace xdc {

namespace {

grpc::ChannelArguments bulk_arguments() {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_FRAME_SIZE, kMaxFrameBytes);
  arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, kLookaheadBytes);
  arguments.SetInt(GRPC_ARG_HTTP2_WRITE_BUFFER_SIZE, kWriteBufferBytes);
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  arguments.SetMaxSendMessageSize(kMaxMessageBytes);
  return arguments;
}

// What a phantom sends, piece by piece.
std::array<std::byte, kChunkBytes> zeros{};

// What gRPC's reference to borrowed memory keeps alive.
struct Loan {
  std::shared_ptr<Outbound> stream;
  std::shared_ptr<Operation> operation;
};

}  // namespace

Outbound::Outbound(std::shared_ptr<ChannelState> state, Rank peer, Socket socket)
    : state_(std::move(state)), peer_(peer), socket_(std::move(socket)) {}

Result<std::shared_ptr<Outbound>> Outbound::open(std::shared_ptr<ChannelState> state, Rank peer, const Call& call, Socket socket,
                                                 grpc::CompletionQueue* queue) {
  XDC_TRY_ASSIGN(Socket ours, socket.duplicate());
  const auto channel = grpc::CreateCustomInsecureChannelFromFd("xdc", socket.release(), bulk_arguments());
  auto outbound = std::make_shared<Outbound>(std::move(state), peer, std::move(ours));
  outbound->start(call, channel, queue);
  return outbound;
}

void Outbound::start(const Call& call, const std::shared_ptr<grpc::Channel>& channel, grpc::CompletionQueue* queue) {
  grpc_->context.AddMetadata(kRunKey, call.run);
  grpc_->context.AddMetadata(kEpochKey, std::to_string(state_->view.epoch));
  grpc_->context.AddMetadata(kPurposeKey, state_->purpose);
  grpc_->context.AddMetadata(kMembersKey, call.members_digest);
  grpc_->context.AddMetadata(kFromKey, std::to_string(call.from));
  grpc_->context.AddMetadata(kToKey, std::to_string(call.to));
  grpc_->stub = std::make_unique<grpc::GenericStub>(channel);
  grpc_->call = grpc_->stub->PrepareCall(&grpc_->context, kStreamMethod, queue);
  grpc_->call->StartCall(started_tag_.start(shared_from_this()));
}

void Outbound::on_started(bool ok) {
  if (ok) {
    grpc_->call->ReadInitialMetadata(metadata_tag_.start(shared_from_this()));
  } else {
    grpc_->call->Finish(&status_, finished_tag_.start(shared_from_this()));
  }
}

void Outbound::on_metadata(bool ok) {
  const bool accepted = ok && grpc_->context.GetServerInitialMetadata().contains(kAcceptedKey);
  // Asked for now, answered when the call ends: this is how a peer that dies is noticed while nothing is being sent.
  grpc_->call->Finish(&status_, finished_tag_.start(shared_from_this()));
  std::unique_lock lock(state_->mutex);
  accepted_ = accepted;
  state_->changed.notify_all();
  pump(lock);
}

void Outbound::send(std::unique_lock<std::mutex>& lock, std::shared_ptr<Operation> operation) {
  if (ended_) {
    operation->error = ended_;
    operation->failed_at = state_->clock.now();
    return;
  }
  unfinished_.push_back(operation);
  unsent_.push_back(std::move(operation));
  pump(lock);
}

void Outbound::close(std::unique_lock<std::mutex>& lock) {
  closing_ = true;
  pump(lock);
}

// One write at a time is gRPC's rule; whoever finds none under way starts the next.
void Outbound::pump(std::unique_lock<std::mutex>& lock) {
  while (!writing_ && accepted_ && !stopped_ && !ended_) {
    if (!unsent_.empty() || (closing_ && !said_bye_)) {
      write_next(lock);
    } else if (closing_ && !writes_done_) {
      writes_done_ = true;
      writing_ = true;
      ++calling_;
      lock.unlock();
      grpc_->call->WritesDone(written_tag_.start(shared_from_this()));
      lock.lock();
      --calling_;
    } else {
      break;
    }
  }
  destroy_ended_call(lock);
}

void Outbound::write_next(std::unique_lock<std::mutex>& lock) {
  std::array<grpc::Slice, 2> slices;
  size_t used = 0;
  grpc::WriteOptions options;
  std::shared_ptr<Operation> operation;
  if (unsent_.empty()) {
    said_bye_ = true;
    const auto header = encode({FrameKind::bye, 0, sequence_++, {}});
    slices[used++] = grpc::Slice(header.data(), header.size());
  } else {
    operation = unsent_.front();
    const bool copied = operation->size <= kCopiedBytes;
    if (operation->done == 0) {
      const auto header = encode({FrameKind::message, operation->size, sequence_++, operation->control_sent});
      grpc::Slice front(header.size() + (copied ? operation->size : 0));
      auto* at = const_cast<uint8_t*>(front.begin());  // ours alone so far
      std::memcpy(at, header.data(), header.size());
      if (copied && operation->size > 0) {
        std::memcpy(at + header.size(), operation->phantom ? zeros.data() : operation->data, operation->size);
      }
      slices[used++] = std::move(front);
    }
    const size_t n = std::min(kChunkBytes, operation->size - operation->done);
    if (!copied) {
      ++operation->borrowed;
      auto* loan = new Loan{shared_from_this(), operation};
      handed_to_grpc(loan);
      slices[used++] = grpc::Slice(operation->phantom ? zeros.data() : operation->data + operation->done, n, &Outbound::let_go, loan);
    }
    operation->done += n;
    if (operation->done == operation->size) {
      unsent_.pop_front();
      last_written_ = operation;
      if (copied) {
        // Nothing of the caller's is needed any more. The next message still waits for this write, so what piles up is bounded.
        operation->written = true;
        finish_in_order();
      }
    } else {
      // More follows at once: the write is done when gRPC's buffer has room, not when the network has taken it.
      options.set_buffer_hint();
    }
  }
  writing_ = true;
  ++calling_;
  lock.unlock();
  {
    const grpc::ByteBuffer message(slices.data(), used);
    slices = {};
    grpc_->call->Write(message, options, written_tag_.start(shared_from_this()));
  }
  lock.lock();
  --calling_;
}

void Outbound::on_written(bool ok) {
  std::unique_lock lock(state_->mutex);
  writing_ = false;
  stopped_ = stopped_ || !ok;
  if (const auto operation = std::exchange(last_written_, nullptr); operation && ok) {
    operation->written = true;
    finish_in_order();
  }
  pump(lock);
}

void Outbound::let_go(void* pointer) {
  handed_back_by_grpc(pointer);
  const std::unique_ptr<Loan> loan(static_cast<Loan*>(pointer));
  Outbound& stream = *loan->stream;
  const std::lock_guard lock(stream.state_->mutex);
  --loan->operation->borrowed;
  stream.finish_in_order();
  stream.state_->changed.notify_all();
}

// In the order of the calls, whatever order gRPC lets go in.
void Outbound::finish_in_order() {
  while (!unfinished_.empty() && unfinished_.front()->written && unfinished_.front()->borrowed == 0) {
    Operation& operation = *unfinished_.front();
    operation.finished = true;
    const auto bytes = static_cast<int64_t>(operation.size);
    state_->traffic.add(state_->view.members[static_cast<size_t>(peer_)], operation.traffic == Traffic::payload ? bytes : 0,
                        bytes + static_cast<int64_t>(kHeaderBytes));
    unfinished_.pop_front();
    state_->changed.notify_all();
  }
}

void Outbound::on_finished(bool) {
  std::unique_lock lock(state_->mutex);
  ended_ = describe_end();
  left_in_order_ = accepted_ && status_.ok();
  for (const auto& operation : unfinished_) {
    operation->error = ended_;
    operation->failed_at = state_->clock.now();
  }
  unfinished_.clear();
  unsent_.clear();
  state_->changed.notify_all();
  destroy_ended_call(lock);
}

// Once its last write has been accounted for and nobody is inside it.
void Outbound::destroy_ended_call(std::unique_lock<std::mutex>& lock) {
  if (ended_ && !writing_ && calling_ == 0 && grpc_) {
    auto ended_call = std::move(grpc_);
    lock.unlock();
    ended_call.reset();
    lock.lock();
  }
}

Error Outbound::describe_end() const {
  if (status_.error_code() == grpc::StatusCode::FAILED_PRECONDITION) {
    return {ErrorCode::view_changed,
            fmt::format("{}: {} {}", state_->describe_channel(), state_->describe_rank(peer_), status_.error_message())};
  }
  // A peer that gave up waiting for a third is not lost.
  const bool gave_up = status_.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED && !state_->opened;
  return {gave_up ? ErrorCode::timeout : ErrorCode::peer_lost,
          fmt::format("{}: {} has ended it{}{}", state_->describe_channel(), state_->describe_rank(peer_),
                      status_.error_message().empty() ? "" : ": ", status_.error_message())};
}

}  // namespace xdc
