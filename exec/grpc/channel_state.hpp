// What do a communicator, its streams and gRPC's threads share? One lock, the work under way, and the first error.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/seam/fabric.hpp"
#include "exec/host/steady_clock.hpp"

namespace xdc {

class Inbound;
class Outbound;

// What this member sent, counted when a send finishes. Its lock is taken last.
class TrafficCounter {
 public:
  void add(MemberId to, int64_t payload_bytes, int64_t wire_bytes);
  std::vector<TrafficCount> counts() const;

 private:
  mutable std::mutex mutex_;
  std::map<MemberId, TrafficCount> counts_;
};

// One message on its way; guarded by ChannelState::mutex.
struct Operation {
  bool sending = false;
  Rank peer = 0;
  ControlWords control_sent;
  ControlWords* control_received = nullptr;
  std::byte* data = nullptr;
  size_t size = 0;
  Traffic traffic = Traffic::payload;
  bool phantom = false;  // `data` is null: zeros are sent, and what comes is dropped, whatever its size

  size_t done = 0;       // bytes taken for sending, or received
  int pieces = 0;        // sending: of those
  int borrowed = 0;      // slices of `data` that gRPC still holds, and copies from or into it under way
  bool written = false;  // sending: gRPC, or the window of a line that resumes, has all of it
  bool finished = false;
  std::optional<Error> error;
  TimePoint failed_at;  // when there was an error
};

// gRPC is never called with `mutex` held: it may run our own callbacks on the calling thread.
struct ChannelState {
  ChannelState(View the_view, Rank the_self, std::string the_purpose, const SteadyClock& the_clock, TrafficCounter& the_traffic,
               std::function<std::string(MemberId)> the_describe)
      : view(std::move(the_view)),
        self(the_self),
        purpose(std::move(the_purpose)),
        clock(the_clock),
        traffic(the_traffic),
        describe(std::move(the_describe)),
        out(view.members.size()),
        in(view.members.size()) {}

  std::string describe_rank(Rank rank) const { return describe(view.members[static_cast<size_t>(rank)]); }
  // "channel grad of view 1"
  std::string describe_channel() const;

  const View view;
  const Rank self;
  const std::string purpose;
  const SteadyClock& clock;
  TrafficCounter& traffic;
  const std::function<std::string(MemberId)> describe;

  std::mutex mutex;
  std::condition_variable changed;
  std::optional<Error> broken;                 // the first error, for good
  bool opened = false;                         // connect() has returned it
  bool closed = false;                         // the owner is gone; nobody waits any more
  std::vector<std::shared_ptr<Outbound>> out;  // by rank; none at `self`; filled while connecting
  std::vector<std::shared_ptr<Inbound>> in;
};

}  // namespace xdc
