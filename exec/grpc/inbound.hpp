// How do messages from one peer arrive? One call on our server, read in order; what was posted first takes what came first.
#pragma once

#include <grpcpp/generic/async_generic_service.h>

#include <atomic>
#include <deque>

#include "exec/grpc/channel_state.hpp"
#include "exec/grpc/frame.hpp"
#include "exec/grpc/tag.hpp"

namespace xdc {

class Inbound final : public std::enable_shared_from_this<Inbound> {
 public:
  // What a caller says of itself.
  struct Caller {
    std::string run;
    uint64_t epoch = 0;
    std::string purpose;
    std::string members_digest;
    MemberId from = -1;
    MemberId to = -1;
  };
  using Arrived = std::function<void(const std::shared_ptr<Inbound>&, bool ok)>;

  explicit Inbound(Arrived arrived) : arrived_(std::move(arrived)) {}

  // Waits for the next call that reaches the server; `arrived` hears of it, with ok = false when the server shuts down.
  void listen(grpc::AsyncGenericService& service, grpc::ServerCompletionQueue* queue);
  // nullopt: not one of our calls.
  std::optional<Caller> caller() const;
  // From now on it belongs to a channel: assign, before the channel's owner can see it, then accept, without the channel's
  // lock. Once.
  void assign(std::shared_ptr<ChannelState> state, Rank peer);
  void accept();

  // The lock is the channel's, held; it may be let go and taken again.
  void receive(std::unique_lock<std::mutex>& lock, std::shared_ptr<Operation> operation);
  // Nothing is wanted any more: the peer's sends fail, and it reads why. Any lane, not with the lock.
  void finish(const grpc::Status& why);

  // Under the lock: why nothing more will come.
  const std::optional<Error>& ended() const { return ended_; }

 private:
  void on_arrived(bool ok);
  void on_accepted(bool ok);
  void on_read(bool ok);
  void on_finished(bool) {}  // the tag kept the call alive until its status was on its way

  void drain(std::unique_lock<std::mutex>& lock);
  bool advance(std::unique_lock<std::mutex>& lock);
  bool take_header();
  void take_payload(std::unique_lock<std::mutex>& lock, Operation& operation);
  void read_more(std::unique_lock<std::mutex>& lock);
  void end(ErrorCode code, const std::string& why);

  const Arrived arrived_;
  grpc::GenericServerContext context_;
  grpc::GenericServerAsyncReaderWriter call_{&context_};
  grpc::ByteBuffer message_;  // of the read under way
  StreamTag<Inbound> arrived_tag_{&Inbound::on_arrived};
  StreamTag<Inbound> accepted_tag_{&Inbound::on_accepted};
  StreamTag<Inbound> read_tag_{&Inbound::on_read};
  StreamTag<Inbound> finished_tag_{&Inbound::on_finished};

  std::shared_ptr<ChannelState> state_;
  Rank peer_ = -1;
  std::atomic<bool> finishing_{false};

  // Guarded by the channel's lock.
  enum class Phase { arriving, open, over } phase_ = Phase::arriving;  // over: nothing more can be read
  bool reading_ = false;
  bool draining_ = false;
  std::deque<grpc::Slice> arrived_slices_;
  size_t front_taken_ = 0;             // bytes of the first slice that are used up
  size_t unclaimed_ = 0;               // bytes in `arrived_slices_` not used up
  std::optional<FrameHeader> header_;  // of the message whose payload comes next
  uint64_t sequence_ = 0;
  std::deque<std::shared_ptr<Operation>> posted_;
  std::optional<Error> ended_;
};

}  // namespace xdc
