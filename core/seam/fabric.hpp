// How do members speak? Channels, not tags: one FIFO per ordered pair and purpose, until it breaks, for good.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/base/time.hpp"
#include "core/seam/bytes.hpp"

namespace xdc {

using MemberId = int;  // index into the run's list of members; stable for the whole run
using Rank = int;      // index into a view's list of members

// Who takes part, agreed by all of them. A changed membership is a new view with a larger epoch.
struct View {
  uint64_t epoch = 0;
  std::vector<MemberId> members;  // ascending

  int size() const { return static_cast<int>(members.size()); }
  // -1 where the member is not in the view.
  Rank rank_of(MemberId member) const;
};

// Travels in front of every payload, always real, 32 bytes, copied at the call. What it says is the caller's: which
// round and part this is, and the sums of weights and votes that must arrive together with the payload.
struct ControlWords {
  std::array<uint64_t, 4> word{};
  friend bool operator==(const ControlWords&, const ControlWords&) = default;
};
inline constexpr size_t kControlBytes = sizeof(ControlWords);

enum class Traffic : uint8_t { payload, control };

// What a message is charged and counted as. It may differ from what is handed over: a small model's bytes at a big
// model's size. A world that really sends the bytes counts what it sent.
struct WireSize {
  int64_t bytes = 0;
  Traffic traffic = Traffic::payload;
};

// One message on its way. Opaque; owned by the caller. Requirement: finished (wait_any returned it, or its communicator
// is aborted) before it is destroyed. Destroyed on the lane that owns the communicator.
class Work {
 public:
  virtual ~Work() = default;
};
using WorkPtr = std::unique_ptr<Work>;

// One lane owns a communicator and makes all its calls, abort() excepted. After a failure every later call fails with
// the first error: recovery is a new view and a new communicator.
class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual Rank rank() const = 0;
  virtual int size() const = 0;

  // Starts sending. `control` is copied now; `payload` is borrowed and must stay untouched until its work is finished.
  // An empty payload sends the control words alone. Messages to one receiver arrive in the order of the calls.
  // Back-pressure: the work finishes when the transport needs the bytes no more, which may wait for the receiver.
  // Requirement: payload contents are finished (no kernel is still writing them); to != rank(); wire.bytes >= 0.
  virtual WorkPtr isend(Rank to, const ControlWords& control, Bytes payload, WireSize wire) = 0;

  // Takes the next message from `from`. When the work is finished *control and payload hold it.
  // Errors at the wait: failed, when the sender's payload has another size.
  virtual WorkPtr irecv(Rank from, ControlWords* control, Bytes payload) = 0;

  // Waits until one of `works` is finished and returns its index. Several finished at once, or a tie with the deadline:
  // finished work wins, lowest index first. Finished works stay finished: pass only those not yet consumed.
  // Errors: timeout (the communicator stays usable and the works pending), peer_lost, aborted, view_changed, failed; all
  // but timeout break the communicator. Requirement: works is not empty.
  virtual Result<size_t> wait_any(std::span<Work* const> works, Deadline deadline) = 0;

  // Breaks the communicator and wakes its owner, who sees `error`, also in works that no message has met yet.
  // The peers' pending works with this rank fail with `peer_lost`, or with their own deadline if that is sooner.
  // Any lane may call, any number of times; the first error stays.
  virtual void abort(Error error) = 0;
};

// Elements [offset, offset + count) of a flat tensor belong to rank `owner` of the view.
struct Part {
  int64_t offset = 0;
  int64_t count = 0;
  Rank owner = 0;
  int64_t wire_bytes = 0;  // as charged
  friend bool operator==(const Part&, const Part&) = default;
};

// Collectives that the hardware does better than we could (NCCL), between devices of one datacenter. Blocking: returns
// when the result is finished, stream order included. Every rank calls with the same shapes in the same order. Sums add
// in rank order where the world can (sim does; NCCL is held to a tolerance). `wire_bytes` is the size of the whole tensor
// as charged. Errors: timeout, peer_lost, aborted, failed; each breaks it, for good. One lane owns it.
// Tensors are f32 in device memory, or i64 counts in pinned memory: counts are control, real even in a phantom run.
class Collectives {
 public:
  virtual ~Collectives() = default;
  // inout[i] = sum over ranks of inout[i].
  virtual Status all_reduce(Tensor inout, int64_t wire_bytes, Deadline deadline) = 0;
  // For each part, on its owner only: inout[part] = sum over ranks. Elsewhere the part's contents are undefined.
  virtual Status reduce_scatter(Tensor inout, std::span<const Part> parts, Deadline deadline) = 0;
  // For each part: every rank's inout[part] = its owner's.
  virtual Status all_gather(Tensor inout, std::span<const Part> parts, Deadline deadline) = 0;
  // Every rank's inout = root's.
  virtual Status broadcast(Tensor inout, Rank root, int64_t wire_bytes, Deadline deadline) = 0;
  // As Communicator::abort.
  virtual void abort(Error error) = 0;
};

// What this member has sent to one other member since the run began, on all purposes.
struct TrafficCount {
  MemberId to = 0;
  int64_t payload_bytes = 0;  // gradients and parameters as encoded (WireSize.traffic == payload)
  int64_t wire_bytes = 0;     // everything: payload, control words, control messages, framing
  int64_t messages = 0;
  // What came back from `to` on this member's own connections: acknowledgements and the like, no messages. 0 where a world has none.
  int64_t returned_bytes = 0;
};

class Fabric {
 public:
  virtual ~Fabric() = default;
  // Opens the channel named (view.epoch, purpose). Every member of the view calls it with the same arguments; members
  // outside are not involved. Returns when all others can be sent to. Requirement: this member is in the view; the pair
  // (epoch, purpose) is used once. Errors: timeout (names who is missing), peer_lost, view_changed, failed.
  virtual Result<std::unique_ptr<Communicator>> connect(const View& view, std::string_view purpose, Deadline deadline) = 0;

  // As connect, for hardware collectives. Errors: also `unsupported`: use point-to-point exchanges instead.
  virtual Result<std::unique_ptr<Collectives>> native_collectives(const View& view, std::string_view purpose, Deadline deadline) = 0;

  // Ascending by member; native collectives are not part of it (they never leave a datacenter).
  virtual std::vector<TrafficCount> traffic() const = 0;
};

}  // namespace xdc
