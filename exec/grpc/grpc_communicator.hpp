// How does a lane use a channel over gRPC? Posts, waits, gives up; gRPC's own threads do the moving.
#pragma once

#include <grpcpp/support/status.h>

#include "exec/grpc/channel_state.hpp"

namespace xdc {

class GrpcCommunicator final : public Communicator {
 public:
  GrpcCommunicator(std::shared_ptr<ChannelState> state, bool device_memory_is_host);
  ~GrpcCommunicator() override;

  Rank rank() const override { return state_->self; }
  int size() const override { return state_->view.size(); }
  WorkPtr isend(Rank to, const ControlWords& control, Bytes payload, WireSize wire) override;
  WorkPtr irecv(Rank from, ControlWords* control, Bytes payload) override;
  Result<size_t> wait_any(std::span<Work* const> works, Deadline deadline) override;
  void abort(Error error) override;

 private:
  std::shared_ptr<Operation> make_operation(Rank peer, Bytes payload) const;

  const std::shared_ptr<ChannelState> state_;
  const bool device_memory_is_host_;
};

// Breaks the channel with `error` unless it is broken already, and ends its streams: peers see this member lost. Any lane.
void break_channel(ChannelState& state, Error error);
// Ends the streams from all peers. The lock is the channel's, held; it is let go meanwhile.
void finish_inbound(ChannelState& state, std::unique_lock<std::mutex>& lock, const grpc::Status& why);

}  // namespace xdc
