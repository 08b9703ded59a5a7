// How do messages from one peer arrive? Pieces from all of its streams, put in order, each once; what was posted first takes what came
// first.
#pragma once

#include <grpcpp/support/slice.h>

#include <deque>
#include <map>
#include <vector>

#include "exec/grpc/channel_state.hpp"
#include "exec/grpc/frame.hpp"
#include "exec/grpc/in_stream.hpp"
#include "exec/grpc/tuning.hpp"

namespace xdc {

// What one gRPC message held. `slice`, `offset`: where its contents begin.
struct Piece {
  FrameHeader header;
  std::vector<grpc::Slice> slices;
  size_t slice = 0, offset = 0;
  size_t left = 0;  // bytes of contents
};

// One object per (view, purpose, ordered pair). The lock of every call is the channel's, held; it may be let go and taken again.
class Inbound {
 public:
  Inbound(ChannelState& state, Rank peer, bool resumes) : state_(state), peer_(peer), resumes_(resumes) {}

  // A further connection, or one in place of a lost one. What it replaces is to be finished, without the lock.
  std::shared_ptr<InStream> attach(const std::shared_ptr<InStream>& stream);
  bool attached() const { return attached_; }
  std::vector<std::shared_ptr<InStream>> streams() const;
  // Nothing will be read from them any more; they and this let go of each other.
  void forget_streams() { streams_.clear(); }
  uint64_t received() const { return next_; }

  void receive(std::unique_lock<std::mutex>& lock, std::shared_ptr<Operation> operation);
  // It is gone for good: posted and later receives fail once what has come is used up.
  void on_peer_lost(std::unique_lock<std::mutex>& lock, const Error& error);

  // Of its streams.
  void take(std::unique_lock<std::mutex>& lock, InStream& stream, Piece piece);
  void on_stream_over(std::unique_lock<std::mutex>& lock, InStream& stream, const std::string& why);
  bool wants_more() const { return unclaimed_ < kUnclaimedBytes; }

 private:
  void drain(std::unique_lock<std::mutex>& lock);
  bool advance(std::unique_lock<std::mutex>& lock);
  bool begin_message();
  void take_payload(std::unique_lock<std::mutex>& lock, Operation& operation);
  void finish_message(Operation& operation);
  void put_in_order(Piece piece);
  void read_more(std::unique_lock<std::mutex>& lock);
  void end(ErrorCode code, const std::string& why);
  std::string describe(const std::string& why) const;

  ChannelState& state_;
  const Rank peer_;
  const bool resumes_;

  // Guarded by the channel's lock.
  std::map<int, std::shared_ptr<InStream>> streams_;  // by index; those that are not over
  bool attached_ = false;                             // some stream has come
  std::deque<Piece> pieces_;                          // in order
  std::map<uint64_t, Piece> ahead_;                   // by sequence: came before what goes before them
  size_t unclaimed_ = 0, ahead_bytes_ = 0;            // in `pieces_`, in `ahead_`
  uint64_t next_ = 0;                                 // sequence
  uint64_t told_ = 0;
  size_t untold_bytes_ = 0;
  bool draining_ = false;
  std::optional<FrameHeader> message_;  // whose payload comes next, or is under way
  std::deque<std::shared_ptr<Operation>> posted_;
  std::optional<Error> lost_;   // nothing more will come
  std::optional<Error> ended_;  // and what came is used up
};

}  // namespace xdc
