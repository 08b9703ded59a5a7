#include "exec/emu/emulated_line.hpp"

#include <algorithm>

#include "core/base/check.hpp"

namespace xdc {

namespace {
constexpr double kBurst_s = 1e-3;
}

EmulatedLine::EmulatedLine(Settings settings) : settings_(std::move(settings)), chance_(settings_.seed, "emulated line " + settings_.name) {
  XDC_CHECK(settings_.bytes_per_s > 0 && settings_.loss >= 0 && settings_.loss < 1);
}

bool EmulatedLine::loses_one() {
  if (settings_.loss <= 0 || chance_.uniform_double() >= settings_.loss) return false;
  ++account_.lost_at_random;
  return true;
}

int EmulatedLine::burst(int64_t bytes) const {
  return static_cast<int>(std::clamp(settings_.bytes_per_s * kBurst_s / static_cast<double>(bytes), 1.0, 64.0));
}

std::optional<TimePoint> EmulatedLine::pass(TimePoint now, int segments, int64_t bytes) {
  if (cut_) {
    account_.dropped_by_fault += segments;
    return std::nullopt;
  }
  const TimePoint begin = std::max(now, free_at_);
  if (begin - now > settings_.queue) {
    account_.dropped_by_queue += segments;
    return std::nullopt;
  }
  const Duration takes = from_seconds(static_cast<double>(bytes) / settings_.bytes_per_s);
  free_at_ = begin + takes;
  account_.segments += segments;
  account_.bytes += bytes;
  account_.busy = account_.busy + takes;
  Duration delay = settings_.latency;
  if (settings_.jitter > Duration{}) delay = delay + from_seconds(chance_.uniform_double() * to_seconds(settings_.jitter));
  arrived_at_ = std::max(arrived_at_, free_at_ + delay);
  return arrived_at_;
}

void EmulatedLine::change(double bytes_per_s, Duration latency, double loss) {
  XDC_CHECK(bytes_per_s > 0 && loss >= 0 && loss <= 1);
  settings_.bytes_per_s = bytes_per_s;
  settings_.latency = latency;
  settings_.loss = loss;
}

}  // namespace xdc
