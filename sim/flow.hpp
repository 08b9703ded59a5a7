// How does one stream carry its messages? A flow is one ordered pair of ranks of one channel: it moves one message at a time
// in the order of the calls, stamps each arrival with "left the sender + latency", and pairs the k-th message with the k-th
// receive. So messages are pipelined behind each other and finish in order, whatever their sizes.
//
// A flow may stand for several: those of all pairs of members that its two ends act for (core/membership/folding.hpp). Then a sender
// calls send_alike() for each other receiver, a receiver receive_alike() for each other sender: the k-th such call of a pair is about
// the k-th message, at the same moment and with the same words, or the members are not alike after all and a check ends the run.
//
// Between datacenters a flow is a TCP connection: it may stand still before a message (core/network/slow_start.hpp).
//
// The sender's work is finished when the last byte has passed the narrowest line (back-pressure: a stream's later messages
// wait for its earlier ones; the receiver is never waited for). The payload is copied at that moment, before the arrival: into
// the receiver's buffer where a receive is posted, else aside.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "core/network/slow_start.hpp"
#include "core/seam/fabric.hpp"
#include "sim/queue.hpp"
#include "sim/trace.hpp"
#include "sim/transfers.hpp"

namespace xdc {

class SimCommunicator;
class SimWork;

class Flow final : public TransferOwner {
 public:
  Flow(Agenda& agenda, Transfers& transfers, const Path& path, TrafficCount& traffic)
      : agenda_(agenda), transfers_(transfers), path_(path), traffic_(traffic) {}

  // Tells of every message that has left. All must outlive the flow.
  void watch(const std::function<void(const MessageSeen&)>& watcher, MemberId from, MemberId to, std::string_view channel) {
    watcher_ = &watcher;
    seen_ = {from, to, channel};
  }

  void send(SimWork& work, const ControlWords& control, Bytes payload, WireSize wire);
  void receive(SimWork& work);
  // As send() and receive(), for a member that the flow's other end acts for: work.peer().
  void send_alike(SimWork& work, const ControlWords& control, WireSize wire);
  void receive_alike(SimWork& work);
  // Whether the next receive to be posted will be met by a message that has left its sender.
  bool has_message_for_next(Rank from) const;
  Duration latency() const { return path_.latency; }

  // The sender leaves: nothing more is sent, what has left still arrives.
  void forget_sends();
  // The receiver leaves: what arrives is dropped.
  void forget_receives();
  // No message will come for the receives that are posted.
  void drop_expected();
  // Stops a transfer that forget_sends() has made useless. A call into SimGrid: from the agenda only, other lanes would run.
  void cancel_transfer() { transfers_.cancel(*this); }

 private:
  struct Message {
    ControlWords control;
    Bytes payload;
    WireSize wire;
    SimWork* work = nullptr;  // until it has left
    bool placed = false;      // the payload is where the receiver wants it
    std::vector<std::byte> kept;
    TimePoint called;
    std::vector<SimWork*> alike;  // as `work`
  };
  // What has arrived and is not yet taken by every sender's receive.
  struct Copy {
    ControlWords control;
    Bytes payload;  // its place may be gone: it is a phantom
    int left = 0;
  };
  // One of the other members that an end acts for.
  struct Alike {
    size_t calls = 0;             // messages sent to it, receives posted for it
    Queue<SimWork*, 4> expected;  // receives that no message has finished, oldest first
  };
  int others_sending() const { return path_.receivers == 1 ? path_.senders - 1 : 0; }
  int others_receiving() const { return path_.senders == 1 ? path_.receivers - 1 : 0; }

  void start_next();
  void start_transfer();
  void transfer_finished() override;
  void tell(const Message& message) const;
  void take_payload(Message& message);
  void arrived();
  void match();
  void deliver(const Message& message, SimWork& work);
  void take_copy(size_t number, SimWork& work);

  Agenda& agenda_;
  Transfers& transfers_;
  Path path_;
  TrafficCount& traffic_;
  SlowStart slow_start_;
  Queue<Message> messages_;   // oldest first: arrived, then on the way, then in transfer, then waiting
  size_t left_ = 0;           // of them have left the sender
  size_t arrived_ = 0;        // of those have arrived
  Queue<SimWork*> expected_;  // receives that no message has finished, oldest first
  std::map<Rank, Alike> alike_;
  size_t sent_ = 0;  // messages ever given to send()
  Queue<Copy> copies_;
  size_t copied_ = 0;  // messages that have ever arrived, where copies are kept
  bool transferring_ = false;
  bool cut_ = false;
  bool receiver_gone_ = false;
  const std::function<void(const MessageSeen&)>* watcher_ = nullptr;
  struct {
    MemberId from = 0, to = 0;
    std::string_view channel;
  } seen_;
  TimePoint started_;
};

class SimWork final : public Work {
 public:
  SimWork(SimCommunicator& owner, Rank peer, bool sending) : owner_(&owner), peer_(peer), sending_(sending) {}
  ~SimWork() override;

  enum class State : uint8_t { pending, finished, failed };
  State state() const { return state_; }
  const Error& error() const { return *error_; }
  TimePoint failed_at() const { return failed_at_; }
  Rank peer() const { return peer_; }
  bool sending() const { return sending_; }

  void finish();
  void fail(const Error& error);

  // A receive's.
  ControlWords* control = nullptr;
  Bytes payload;
  // The owner's lane waits for it.
  bool awaited = false;
  // In the owner's list of pending works.
  SimWork *before = nullptr, *after = nullptr;

 private:
  void end(State state);

  SimCommunicator* owner_;
  std::optional<Error> error_;
  TimePoint failed_at_;
  Rank peer_;
  State state_ = State::pending;
  bool sending_;
};

}  // namespace xdc
