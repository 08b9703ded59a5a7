// What does one member hold of a channel?
#pragma once

#include <vector>

#include "sim/fabric.hpp"

namespace xdc {

// In order of their calls; linked through the works themselves, of which a run has tens of thousands a step.
class PendingWorks {
 public:
  bool empty() const { return first_ == nullptr; }
  size_t size() const { return size_; }
  SimWork& first() const { return *first_; }
  std::vector<SimWork*> all() const;
  void add(SimWork& work);
  void remove(SimWork& work);

 private:
  SimWork *first_ = nullptr, *last_ = nullptr;
  size_t size_ = 0;
};

class SimCommunicator final : public Communicator {
 public:
  SimCommunicator(FabricHub& hub, SimDevice& device, Channel& channel, Rank rank);
  ~SimCommunicator() override;

  Rank rank() const override { return rank_; }
  int size() const override { return channel_.view().size(); }
  WorkPtr isend(Rank to, const ControlWords& control, Bytes payload, WireSize wire) override;
  WorkPtr irecv(Rank from, ControlWords* control, Bytes payload) override;
  Result<size_t> wait_any(std::span<Work* const> works, Deadline deadline) override;
  void abort(Error error) override;

  // From its works, when they end.
  void ended(SimWork& work);
  // From the agenda: `gone` has left the channel.
  void hear(Rank gone);

 private:
  // When this rank knows that `peer` has left; nullopt: it has not.
  std::optional<TimePoint> knows_gone(Rank peer);
  void break_with(Error error);
  // Makes no simcall: a lane that is killed leaves as well.
  void leave(Error told_to_peers);
  std::unique_ptr<SimWork> make_work(Rank peer, bool sending);
  std::string name_of(Rank rank) const;
  std::string describe_channel() const;
  std::string describe_works(std::span<Work* const> works) const;

  FabricHub& hub_;
  SimDevice& device_;
  Channel& channel_;
  Rank rank_;
  WaitPoint waiter_;
  PendingWorks pending_;
  std::optional<Error> broken_;
};

}  // namespace xdc
