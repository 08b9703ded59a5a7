// What happened, for whoever watches a real run? One JSON object a line onto a file descriptor.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>

#include "core/seam/trace.hpp"

namespace xdc {

// {"time_ns":12,"datacenter":"beijing","rank":3,"step":7,"event":"step","loss":0.5}
// A line goes out in one write. Where the descriptor cannot take it at once (a pipe nobody reads), it is dropped, and the next
// line that goes out carries "dropped": how many were.
class JsonTrace final : public Trace {
 public:
  // Borrows `fd`; -1 records nothing.
  JsonTrace(int fd, std::string datacenter, int rank) : fd_(fd), datacenter_(std::move(datacenter)), rank_(rank) {}

  void record(TimePoint time, int64_t step, std::string_view event, std::initializer_list<TraceField> fields) override;

 private:
  std::mutex mutex_;
  int fd_;
  std::string datacenter_;
  int rank_;
  int64_t dropped_ = 0;
};

}  // namespace xdc
