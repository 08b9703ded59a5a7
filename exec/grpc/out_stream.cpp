#include "exec/grpc/out_stream.hpp"

#include <grpcpp/create_channel.h>
#include <grpcpp/create_channel_posix.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "exec/grpc/credentials.hpp"
#include "exec/grpc/outbound.hpp"
#include "exec/grpc/protocol.hpp"
#include "exec/grpc/tuning.hpp"

namespace xdc {

namespace {

grpc::ChannelArguments bulk_arguments(const Dial& dial) {
  grpc::ChannelArguments arguments = channel_arguments(dial.security, dial.label);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_FRAME_SIZE, kMaxFrameBytes);
  arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, kLookaheadBytes);
  arguments.SetInt(GRPC_ARG_HTTP2_WRITE_BUFFER_SIZE, kWriteBufferBytes);
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kConnectMs);
  arguments.SetMaxSendMessageSize(kMaxMessageBytes);
  if (dial.line.resumes) {
    // gRPC sets TCP's user time-out to the same.
    const auto ms = static_cast<int>(std::clamp<int64_t>(dial.line.silence.ns / 1'000'000, 1, 600'000));
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, ms);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, ms);
    arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  }
  return arguments;
}

std::optional<FrameHeader> header_of(const grpc::ByteBuffer& message) {
  std::vector<grpc::Slice> slices;
  std::array<std::byte, kHeaderBytes> bytes;
  size_t filled = 0;
  if (!message.Dump(&slices).ok()) {
    return std::nullopt;
  }
  for (const grpc::Slice& slice : slices) {
    const size_t n = std::min(slice.size(), bytes.size() - filled);
    std::memcpy(bytes.data() + filled, slice.begin(), n);
    filled += n;
  }
  return filled == bytes.size() ? decode(bytes) : std::nullopt;
}

}  // namespace

OutStream::OutStream(const std::shared_ptr<Outbound>& owner, std::shared_ptr<ChannelState> state, int index)
    : owner_(owner), state_(std::move(state)), index_(index) {}

Status OutStream::start(std::unique_lock<std::mutex>& lock, Socket socket) {
  const std::shared_ptr<Outbound> owner = owner_.lock();
  const Dial& dial = owner->dial();
  auto transport = std::make_unique<Transport>();
  Transport& made = *transport;
  accepted_ = stopped_ = done_ = finished_ = over_ = false;
  if (socket.fd() >= 0) {
    XDC_TRY_ASSIGN(socket_, socket.duplicate());
  }
  grpc_ = std::move(transport);
  ++calling_;
  lock.unlock();
  const auto channel = socket.fd() >= 0 ? grpc::CreateCustomInsecureChannelFromFd("xdc", socket.release(), bulk_arguments(dial))
                                        : grpc::CreateCustomChannel(dial.address, channel_credentials(dial.security), bulk_arguments(dial));
  made.context.AddMetadata(kRunKey, dial.run);
  made.context.AddMetadata(kEpochKey, std::to_string(state_->view.epoch));
  made.context.AddMetadata(kPurposeKey, state_->purpose);
  made.context.AddMetadata(kMembersKey, dial.members_digest);
  made.context.AddMetadata(kFromKey, std::to_string(dial.from));
  made.context.AddMetadata(kToKey, std::to_string(dial.to));
  made.context.AddMetadata(kStreamKey, std::to_string(index_));
  made.stub = std::make_unique<grpc::GenericStub>(channel);
  made.call = made.stub->PrepareCall(&made.context, kStreamMethod, dial.queue);
  made.call->StartCall(started_tag_.start(shared_from_this()));
  lock.lock();
  --calling_;
  settle(lock);
  return ok_status();
}

void OutStream::start_again(std::unique_lock<std::mutex>& lock) {
  over_ = false;
  pause_ = pause_.ns == 0 ? kFirstPause : std::min(pause_ * 2, kLongestPause);
  const auto alarm = std::make_shared<grpc::Alarm>();
  alarm_ = alarm;
  const auto until = std::chrono::system_clock::now() + std::chrono::nanoseconds(pause_.ns);
  grpc::CompletionQueue* queue = owner_.lock()->dial().queue;
  lock.unlock();
  alarm->Set(queue, until, pause_tag_.start(shared_from_this()));
  lock.lock();
}

void OutStream::on_pause_over(bool) {
  std::unique_lock lock(state_->mutex);
  alarm_.reset();
  const std::shared_ptr<Outbound> owner = owner_.lock();
  if (owner->wants_streams()) {
    // Without a socket there is nothing that could fail here.
    XDC_CHECK(start(lock).ok());
    return;
  }
  over_ = true;
  owner->on_over(lock, *this, {grpc::StatusCode::CANCELLED, "given up"}, false);
}

void OutStream::on_started(bool ok) {
  if (ok) {
    grpc_->call->ReadInitialMetadata(metadata_tag_.start(shared_from_this()));
  } else {
    grpc_->call->Finish(&grpc_->status, finished_tag_.start(shared_from_this()));
  }
}

void OutStream::on_metadata(bool ok) {
  const auto& metadata = grpc_->context.GetServerInitialMetadata();
  const auto found = ok ? metadata.find(kAcceptedKey) : metadata.end();
  const bool accepted = found != metadata.end();
  const uint64_t received = accepted ? std::strtoull(std::string(found->second.data(), found->second.size()).c_str(), nullptr, 10) : 0;
  if (accepted) {
    // Also how a peer that dies is noticed while nothing is being sent.
    read_more();
  } else {
    grpc_->call->Finish(&grpc_->status, finished_tag_.start(shared_from_this()));
  }
  const std::shared_ptr<Outbound> owner = owner_.lock();
  if (accepted && owner->dial().line.resumes) {
    owner->dial().meter->look(owner->dial().address, owner->dial().to);
  }
  std::unique_lock lock(state_->mutex);
  accepted_ = accepted;
  if (accepted) {
    pause_ = {0};
    owner->on_accepted(lock, received);
  }
}

void OutStream::read_more() { grpc_->call->Read(&grpc_->read, read_tag_.start(shared_from_this())); }

void OutStream::on_read(bool ok) {
  if (!ok) {
    grpc_->call->Finish(&grpc_->status, finished_tag_.start(shared_from_this()));
    return;
  }
  const auto header = header_of(grpc_->read);
  grpc_->read.Clear();
  read_more();
  if (header && header->kind == FrameKind::received && header->epoch == state_->view.epoch) {
    std::unique_lock lock(state_->mutex);
    owner_.lock()->on_received(lock, header->sequence);
  }
}

void OutStream::write(std::unique_lock<std::mutex>& lock, std::span<grpc::Slice> slices, bool more_follows,
                      std::shared_ptr<Operation> operation) {
  last_of_ = std::move(operation);
  writing_ = true;
  ++calling_;
  lock.unlock();
  {
    grpc::WriteOptions options;
    if (more_follows) {
      // The write is done when gRPC's buffer has room, not when the network has taken it.
      options.set_buffer_hint();
    }
    const grpc::ByteBuffer message(slices.data(), slices.size());
    std::fill(slices.begin(), slices.end(), grpc::Slice());
    grpc_->call->Write(message, options, written_tag_.start(shared_from_this()));
  }
  lock.lock();
  --calling_;
  settle(lock);
}

void OutStream::writes_done(std::unique_lock<std::mutex>& lock) {
  done_ = true;
  writing_ = true;
  ++calling_;
  lock.unlock();
  grpc_->call->WritesDone(written_tag_.start(shared_from_this()));
  lock.lock();
  --calling_;
  settle(lock);
}

void OutStream::give_back(std::unique_lock<std::mutex>& lock) {
  writing_ = false;
  settle(lock);
}

void OutStream::on_written(bool ok) {
  std::unique_lock lock(state_->mutex);
  const std::shared_ptr<Outbound> owner = owner_.lock();
  writing_ = false;
  stopped_ = stopped_ || !ok;
  if (const auto operation = std::exchange(last_of_, nullptr); operation && ok) {
    owner->on_written(*operation);
  }
  owner->on_idle(lock);
  settle(lock);
}

void OutStream::on_finished(bool) {
  std::unique_lock lock(state_->mutex);
  finished_ = true;
  settle(lock);
}

// Once its last write has been accounted for and nobody is inside it, the ended call is destroyed.
void OutStream::settle(std::unique_lock<std::mutex>& lock) {
  if (!grpc_ || !finished_ || writing_ || calling_ > 0) {
    return;
  }
  auto ended = std::move(grpc_);
  const grpc::Status status = ended->status;
  const bool was_accepted = std::exchange(accepted_, false);
  lock.unlock();
  ended.reset();
  lock.lock();
  over_ = true;
  owner_.lock()->on_over(lock, *this, status, was_accepted);
}

void OutStream::sever(std::unique_lock<std::mutex>& lock) {
  if (socket_.fd() >= 0) {
    socket_.shut_down();
    return;
  }
  const std::shared_ptr<grpc::Alarm> alarm = alarm_;
  Transport* const transport = grpc_.get();
  if (transport == nullptr && !alarm) {
    return;
  }
  ++calling_;
  lock.unlock();
  if (transport != nullptr) {
    transport->context.TryCancel();
  }
  if (alarm) {
    alarm->Cancel();
  }
  lock.lock();
  --calling_;
  settle(lock);
}

}  // namespace xdc
