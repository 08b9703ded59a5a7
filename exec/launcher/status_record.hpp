// What does a rank tell its launcher while it runs? Records of one size, each written to the pipe at once and whole.
#pragma once

#include <cstdint>
#include <type_traits>

namespace xdc {

struct StatusRecord {
  enum class Kind : int64_t { step, traffic };
  Kind kind = Kind::step;
  int64_t member = 0;
  int64_t time_ns = 0;  // on the run's clock
  // A step that a worker has taken.
  int64_t step = 0;
  int64_t samples = 0;
  int64_t duration_ns = 0;
  double loss = 0;  // the worker's part of the mean over all; NaN: there is none
  // What a member has sent so far to members of another datacenter.
  int64_t to = 0;
  int64_t payload_bytes = 0;
  int64_t wire_bytes = 0;
};
static_assert(std::is_trivially_copyable_v<StatusRecord> && sizeof(StatusRecord) <= 512, "a pipe takes at least 512 bytes whole");

}  // namespace xdc
