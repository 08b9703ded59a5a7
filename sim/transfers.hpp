// When has a message left its sender? One SimGrid communication per transfer, without an actor: whoever started it is told
// outside all lanes, at the moment when the last byte has passed the narrowest line.
//
// An actor that pumps a stream costs 4 to 40 microseconds a message and a stack; SimGrid's sets of finished actions, read
// whenever its clock moved, tell the same for 1 to 5.
#pragma once

#include <unordered_map>
#include <vector>

#include "sim/agenda.hpp"
#include "sim/platform.hpp"

namespace xdc {

class TransferOwner {
 public:
  virtual ~TransferOwner() = default;
  virtual void transfer_finished() = 0;

 private:
  friend class Transfers;
  const sg::ActivityImpl* transfer_ = nullptr;  // under way
};

class Transfers {
 public:
  explicit Transfers(Agenda& agenda);
  Transfers(const Transfers&) = delete;
  Transfers& operator=(const Transfers&) = delete;

  // As many messages of `bytes` each as the path has flows. One start at a time per owner. An owner that goes first cancels.
  void start(const Path& path, int64_t bytes, TransferOwner& owner);
  // The owner is not told. Nothing happens when it has no transfer under way.
  void cancel(TransferOwner& owner);

 private:
  static void shape(const sg::ActivityImpl* activity, const Path& path);
  void collect();
  void report();

  struct Underway {
    sg::CommPtr comm;
    TransferOwner* owner;
  };
  Agenda& agenda_;
  std::unordered_map<const sg::ActivityImpl*, Underway> underway_;
  std::vector<Underway> finished_;  // SimGrid still needs the comm until it has handled it
};

}  // namespace xdc
