#include "exec/host/steady_clock.hpp"

#include <thread>

namespace xdc {

int64_t SteadyClock::monotonic_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::chrono::steady_clock::time_point SteadyClock::at(TimePoint t) const {
  return std::chrono::steady_clock::time_point(std::chrono::nanoseconds((TimePoint{origin_ns_} + Duration{t.ns}).ns));
}

void SteadyClock::sleep_until(TimePoint t) { std::this_thread::sleep_until(at(t)); }

}  // namespace xdc
