#include "exec/grpc/channel_state.hpp"

#include <fmt/format.h>

namespace xdc {

void TrafficCounter::add(MemberId to, int64_t payload_bytes, int64_t wire_bytes) {
  const std::lock_guard lock(mutex_);
  TrafficCount& count = counts_[to];
  count.to = to;
  count.payload_bytes += payload_bytes;
  count.wire_bytes += wire_bytes;
  ++count.messages;
}

std::vector<TrafficCount> TrafficCounter::counts() const {
  const std::lock_guard lock(mutex_);
  std::vector<TrafficCount> all;
  for (const auto& [to, count] : counts_) {
    all.push_back(count);
  }
  return all;
}

std::string ChannelState::describe_channel() const { return fmt::format("channel {} of view {}", purpose, view.epoch); }

}  // namespace xdc
