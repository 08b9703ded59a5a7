#include "core/network/slow_start.hpp"

#include <algorithm>

namespace xdc {

Duration SlowStart::stall(const TcpPath& path, TimePoint now, int64_t wire_bytes) {
  if (window_ == 0 || now - last_sent_ > path.restart_after) {
    window_ = path.initial_window;
    used_ = 0;
    acknowledged_at_ = now + path.round_trip;
  } else if (now >= acknowledged_at_) {
    window_ += used_;
    used_ = 0;
    acknowledged_at_ = now + path.round_trip;
  }
  last_sent_ = now;
  const double full = path.free_rate * to_seconds(path.round_trip);
  Duration waited{};
  TimePoint at = now;  // when the next byte goes out if nobody else is on the lines
  while (static_cast<double>(window_) < full && wire_bytes > window_ - used_) {
    wire_bytes -= window_ - used_;
    at = at + from_seconds(static_cast<double>(window_ - used_) / path.free_rate);
    if (at < acknowledged_at_) {
      waited = waited + (acknowledged_at_ - at);
      at = acknowledged_at_;
    }
    acknowledged_at_ = at + path.round_trip;
    window_ *= 2;
    used_ = 0;
  }
  used_ = static_cast<double>(window_) < full ? used_ + wire_bytes : 0;
  return waited;
}

}  // namespace xdc
