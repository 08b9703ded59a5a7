// How do messages to one peer leave? In pieces, numbered through, over one stream or several; where the line resumes, what a broken
// stream lost is sent again.
#pragma once

#include <grpcpp/support/slice.h>

#include <deque>
#include <map>
#include <set>

#include "exec/grpc/channel_state.hpp"
#include "exec/grpc/frame.hpp"
#include "exec/grpc/out_stream.hpp"

namespace xdc {

// One object per (view, purpose, ordered pair): a big bucket on one purpose never stands in front of a control message of another.
// The lock of every call is the channel's, held; it may be let go and taken again.
class Outbound final : public std::enable_shared_from_this<Outbound> {
 public:
  // `socket` is connected to the peer's fabric; none for a line that resumes, or with certificates.
  static Result<std::shared_ptr<Outbound>> open(std::shared_ptr<ChannelState> state, Rank peer, Dial dial, Socket socket);
  // Not to be called; open() is.
  Outbound(std::shared_ptr<ChannelState> state, Rank peer, Dial dial);

  void send(std::unique_lock<std::mutex>& lock, std::shared_ptr<Operation> operation);
  // Says good-bye after what was sent.
  void close(std::unique_lock<std::mutex>& lock);
  // Ends its streams now: gRPC lets go of lent memory soon after, whatever the peer does.
  void sever(std::unique_lock<std::mutex>& lock);

  // Under the lock.
  bool accepted() const { return accepted_; }
  const std::optional<Error>& ended() const { return ended_; }
  // It had opened the channel, was done with it and closed it: no failure, unless something is still sent to it.
  bool left_in_order() const { return left_in_order_; }
  // No stream of it will come back to gRPC.
  bool all_over() const;
  // Why a stream was lost last; empty: none was.
  const std::string& last_loss() const { return last_loss_; }

  // Of its streams.
  void on_accepted(std::unique_lock<std::mutex>& lock, uint64_t received);
  void on_received(std::unique_lock<std::mutex>& lock, uint64_t received);
  void on_idle(std::unique_lock<std::mutex>& lock) { pump(lock); }
  void on_written(Operation& operation);
  // What it had on its way is sent again, over others or over itself after a while, unless this is the end.
  void on_over(std::unique_lock<std::mutex>& lock, OutStream& stream, const grpc::Status& status, bool was_accepted);
  // When gRPC gives lent memory back.
  void on_let_go(Operation& operation);

  bool wants_streams() const;
  const Dial& dial() const { return dial_; }

 private:
  // A piece that is kept until the peer has it.
  struct Kept {
    grpc::Slice bytes;  // header and contents
    int stream = -1;    // which took it last; -1: it waits to be sent again
  };

  void pump(std::unique_lock<std::mutex>& lock);
  std::shared_ptr<OutStream> idle_stream() const;
  void open_another(std::unique_lock<std::mutex>& lock);
  bool write_piece(std::unique_lock<std::mutex>& lock, const std::shared_ptr<OutStream>& stream);
  void write_lent(std::unique_lock<std::mutex>& lock, OutStream& stream, const std::shared_ptr<Operation>& operation, size_t at, size_t n,
                  FrameHeader header, bool last);
  void write_copied(std::unique_lock<std::mutex>& lock, OutStream& stream, const std::shared_ptr<Operation>& operation, size_t at, size_t n,
                    FrameHeader header, bool last);
  void finish_in_order();
  void end(std::unique_lock<std::mutex>& lock, Error error);
  Error describe_end(const grpc::Status& status) const;
  std::optional<Error> final_error(const grpc::Status& status) const;

  const std::shared_ptr<ChannelState> state_;
  const Rank peer_;
  const Dial dial_;

  // Guarded by the channel's lock.
  std::vector<std::shared_ptr<OutStream>> streams_;
  bool accepted_ = false;  // some stream has been
  bool severed_ = false;
  bool closing_ = false;
  bool said_bye_ = false;
  std::optional<Error> ended_;
  bool left_in_order_ = false;
  std::string last_loss_;
  int rejections_ = 0;  // connections in a row that ended before they were accepted
  uint64_t sequence_ = 0;
  std::deque<std::shared_ptr<Operation>> unsent_;      // the front one may be partly taken
  std::deque<std::shared_ptr<Operation>> unfinished_;  // `unsent_` is its tail
  size_t unsent_bytes_ = 0;
  std::map<uint64_t, Kept> kept_;  // by sequence
  std::set<uint64_t> again_;       // of `kept_`, what waits to be sent again
  size_t kept_bytes_ = 0;
};

}  // namespace xdc
