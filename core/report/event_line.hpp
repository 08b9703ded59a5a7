// How does an event read, for whoever watches? One JSON object a line, the same in both worlds.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/seam/trace.hpp"

namespace xdc {

// Who says it: a member of one variant's run.
struct EventSource {
  std::string variant, datacenter;
  int64_t rank = 0;  // the member's number: servers come after the workers
};

// {"time_ns":12,"variant":"ring","datacenter":"beijing","rank":3,"step":7,"event":"step","loss":0.5} and a newline. A number that is not
// finite is null. `dropped`: so many lines of this source before it were lost; said where it is not 0.
std::string event_line(const EventSource& source, TimePoint time, int64_t step, std::string_view event, std::span<const TraceField> fields,
                       int64_t dropped = 0);

// Lines of event_line() in order of their times; of equal times, in the order in which they were said.
std::string sorted_by_time(std::string_view lines);

}  // namespace xdc
