// How do messages to one peer leave? A client-streaming call of our own over a TCP connection of its own, written in order.
#pragma once

#include <grpcpp/generic/generic_stub.h>

#include <deque>

#include "exec/grpc/channel_state.hpp"
#include "exec/grpc/frame.hpp"
#include "exec/grpc/socket.hpp"
#include "exec/grpc/tag.hpp"

namespace xdc {

// One connection per (view, purpose, ordered pair): a big bucket on one purpose never stands in front of a control message
// of another, and shutting the socket down makes gRPC let go of borrowed memory even when the peer has stopped reading.
class Outbound final : public std::enable_shared_from_this<Outbound> {
 public:
  struct Call {
    std::string run;
    std::string members_digest;
    MemberId from = 0;
    MemberId to = 0;
  };

  // `socket` is connected to the peer's fabric.
  static Result<std::shared_ptr<Outbound>> open(std::shared_ptr<ChannelState> state, Rank peer, const Call& call, Socket socket,
                                                grpc::CompletionQueue* queue);
  // Not to be called; open() is.
  Outbound(std::shared_ptr<ChannelState> state, Rank peer, Socket socket);

  // The lock is the channel's, held; it may be let go and taken again.
  void send(std::unique_lock<std::mutex>& lock, std::shared_ptr<Operation> operation);
  // Says good-bye after what was sent.
  void close(std::unique_lock<std::mutex>& lock);
  // Ends the connection now. Any lane, with or without the lock.
  void sever() const { socket_.shut_down(); }

  // Under the lock.
  bool accepted() const { return accepted_; }
  const std::optional<Error>& ended() const { return ended_; }
  // It had opened the channel, was done with it and closed it: no failure, unless something is still sent to it.
  bool left_in_order() const { return left_in_order_; }

 private:
  void start(const Call& call, const std::shared_ptr<grpc::Channel>& channel, grpc::CompletionQueue* queue);
  void on_started(bool ok);
  void on_metadata(bool ok);
  void on_written(bool ok);
  void on_finished(bool ok);

  void pump(std::unique_lock<std::mutex>& lock);
  void write_next(std::unique_lock<std::mutex>& lock);
  void finish_in_order();
  void destroy_ended_call(std::unique_lock<std::mutex>& lock);
  static void let_go(void* loan);
  Error describe_end() const;

  const std::shared_ptr<ChannelState> state_;
  const Rank peer_;
  const Socket socket_;  // a duplicate of gRPC's
  // What gRPC keeps for this call. Its stream holds on to borrowed memory until the call is destroyed, so that is done as soon
  // as the call has ended.
  struct Transport {
    std::unique_ptr<grpc::GenericStub> stub;  // destroyed last
    grpc::ClientContext context;
    std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call;
  };
  std::unique_ptr<Transport> grpc_ = std::make_unique<Transport>();
  grpc::Status status_;
  StreamTag<Outbound> started_tag_{&Outbound::on_started};
  StreamTag<Outbound> metadata_tag_{&Outbound::on_metadata};
  StreamTag<Outbound> written_tag_{&Outbound::on_written};
  StreamTag<Outbound> finished_tag_{&Outbound::on_finished};

  // Guarded by the channel's lock.
  bool accepted_ = false;
  bool writing_ = false;
  int calling_ = 0;       // threads inside gRPC with the call; it must not be destroyed under them
  bool stopped_ = false;  // a write failed: the call is ending, and says why soon
  bool closing_ = false;
  bool said_bye_ = false;
  bool writes_done_ = false;
  std::optional<Error> ended_;
  bool left_in_order_ = false;
  uint64_t sequence_ = 0;
  std::deque<std::shared_ptr<Operation>> unsent_;      // the front one may be partly written
  std::deque<std::shared_ptr<Operation>> unfinished_;  // `unsent_` is its tail
  std::shared_ptr<Operation> last_written_;            // whose last byte is in the write under way
};

}  // namespace xdc
