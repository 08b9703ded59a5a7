#include "exec/grpc/grpc_communicator.hpp"

#include <fmt/format.h>

#include "exec/grpc/inbound.hpp"
#include "exec/grpc/outbound.hpp"

namespace xdc {

namespace {

class GrpcWork final : public Work {
 public:
  GrpcWork(std::shared_ptr<ChannelState> state, std::shared_ptr<Operation> operation)
      : state_(std::move(state)), operation_(std::move(operation)) {}

  // gRPC and the copying threads have let go of the caller's memory when this returns.
  ~GrpcWork() override {
    std::unique_lock lock(state_->mutex);
    XDC_CHECK_MSG(operation_->finished || operation_->error || state_->broken || state_->closed,
                  "a message is dropped while it is on its way");
    const auto peer = static_cast<size_t>(operation_->peer);
    if (operation_->sending && operation_->borrowed > 0 && peer < state_->out.size() && state_->out[peer]) {
      const auto stream = state_->out[peer];
      stream->sever(lock);
    }
    state_->changed.wait(lock, [this] { return operation_->borrowed == 0; });
  }

  const ChannelState* state() const { return state_.get(); }
  const Operation& operation() const { return *operation_; }

 private:
  std::shared_ptr<ChannelState> state_;
  std::shared_ptr<Operation> operation_;
};

const GrpcWork& as_grpc(const Work* work, const ChannelState* state) {
  const auto* ours = dynamic_cast<const GrpcWork*>(work);
  XDC_CHECK_MSG(ours != nullptr && ours->state() == state, "a message of another communicator is waited for");
  return *ours;
}

Error describe_timeout(const ChannelState& state, std::span<Work* const> works) {
  std::string waited_for;
  for (size_t i = 0; i < works.size() && i < 4; ++i) {
    const Operation& operation = as_grpc(works[i], &state).operation();
    waited_for += fmt::format("{}{} of {} bytes {} {}", i == 0 ? "" : ", ", operation.done, operation.size,
                              operation.sending ? "to" : "from", state.describe_rank(operation.peer));
  }
  return {ErrorCode::timeout, fmt::format("{}: the deadline passed at {}{}", state.describe_channel(), waited_for,
                                          works.size() > 4 ? fmt::format(" and {} more", works.size() - 4) : "")};
}

}  // namespace

void break_channel(ChannelState& state, Error error) {
  std::unique_lock lock(state.mutex);
  if (!state.broken) {
    state.broken = std::move(error);
  }
  state.changed.notify_all();
  const grpc::Status why{state.broken->code == ErrorCode::timeout ? grpc::StatusCode::DEADLINE_EXCEEDED : grpc::StatusCode::ABORTED,
                         state.broken->message};
  const auto out = state.out;
  for (const auto& stream : out) {
    if (stream) {
      stream->sever(lock);
    }
  }
  finish_inbound(state, lock, why);
}

void finish_inbound(ChannelState& state, std::unique_lock<std::mutex>& lock, const grpc::Status& why) {
  std::vector<std::shared_ptr<InStream>> streams;
  for (const auto& peer : state.in) {
    if (peer) {
      const auto of_peer = peer->streams();
      streams.insert(streams.end(), of_peer.begin(), of_peer.end());
    }
  }
  lock.unlock();
  for (const auto& stream : streams) {
    stream->finish(why);
  }
  lock.lock();
}

GrpcCommunicator::GrpcCommunicator(std::shared_ptr<ChannelState> state, bool device_memory_is_host)
    : state_(std::move(state)), device_memory_is_host_(device_memory_is_host) {}

GrpcCommunicator::~GrpcCommunicator() {
  std::unique_lock lock(state_->mutex);
  state_->closed = true;
  if (state_->broken) {
    lock.unlock();
    break_channel(*state_, {ErrorCode::aborted, "closed"});
    return;
  }
  const auto out = state_->out;
  for (const auto& stream : out) {
    if (stream) {
      stream->close(lock);
    }
  }
  finish_inbound(*state_, lock, grpc::Status::OK);
}

std::shared_ptr<Operation> GrpcCommunicator::make_operation(Rank peer, Bytes payload) const {
  XDC_CHECK_MSG(peer >= 0 && peer < size() && peer != rank(), "no such peer in the view");
  auto operation = std::make_shared<Operation>();
  operation->peer = peer;
  operation->data = payload.data;
  operation->size = payload.size;
  operation->phantom = payload.phantom() && payload.size > 0;
  if (!operation->phantom && payload.space == Space::device && !device_memory_is_host_) {
    operation->error = Error{ErrorCode::unsupported,
                             fmt::format("{}: device memory must be copied to pinned memory to be sent", state_->describe_channel())};
  }
  return operation;
}

WorkPtr GrpcCommunicator::isend(Rank to, const ControlWords& control, Bytes payload, WireSize wire) {
  XDC_CHECK(wire.bytes >= 0);
  const auto operation = make_operation(to, payload);
  operation->sending = true;
  operation->control_sent = control;
  operation->traffic = wire.traffic;
  if (operation->phantom) {
    operation->size = static_cast<size_t>(wire.bytes);
  }
  std::unique_lock lock(state_->mutex);
  if (!state_->broken && !operation->error) {
    state_->out[static_cast<size_t>(to)]->send(lock, operation);
  }
  return std::make_unique<GrpcWork>(state_, operation);
}

WorkPtr GrpcCommunicator::irecv(Rank from, ControlWords* control, Bytes payload) {
  const auto operation = make_operation(from, payload);
  operation->control_received = control;
  std::unique_lock lock(state_->mutex);
  if (!state_->broken && !operation->error) {
    state_->in[static_cast<size_t>(from)]->receive(lock, operation);
  }
  return std::make_unique<GrpcWork>(state_, operation);
}

Result<size_t> GrpcCommunicator::wait_any(std::span<Work* const> works, Deadline deadline) {
  XDC_CHECK(!works.empty());
  std::unique_lock lock(state_->mutex);
  std::optional<size_t> finished;
  const Operation* failed = nullptr;
  const auto decided = [&] {
    for (size_t i = 0; i < works.size() && !finished; ++i) {
      const Operation& operation = as_grpc(works[i], state_.get()).operation();
      finished = operation.finished ? std::optional(i) : std::nullopt;
      // News that came after the deadline is not what this wait sees, however late this lane was woken.
      failed = failed == nullptr && operation.error && operation.failed_at <= deadline ? &operation : failed;
    }
    return state_->broken || finished || failed != nullptr;
  };
  const bool in_time = wait_until(state_->clock, state_->changed, lock, deadline, decided);
  if (state_->broken) {
    return *state_->broken;
  }
  if (!in_time) {
    return describe_timeout(*state_, works);
  }
  if (finished) {
    return *finished;
  }
  state_->broken = failed->error;
  return *state_->broken;
}

void GrpcCommunicator::abort(Error error) { break_channel(*state_, std::move(error)); }

}  // namespace xdc
