// What happened, for whoever watches a real run? One JSON object a line onto file descriptors.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "core/report/event_line.hpp"
#include "core/seam/trace.hpp"

namespace xdc {

// Lines of event_line(). A line goes out in one write, so that lines of several writers of one file (opened for appending) or pipe are
// never mixed. Where a descriptor cannot take it at once (a pipe nobody reads), it is dropped there, and the next line that goes out
// carries "dropped": how many were. A descriptor that fails (a full disk, a reader that is gone) is given up, with a warning.
class JsonTrace final : public Trace {
 public:
  // Borrows the descriptors, which block nobody: files, and pipes with O_NONBLOCK. None: nothing is recorded.
  JsonTrace(const std::vector<int>& fds, EventSource source);

  void record(TimePoint time, int64_t step, std::string_view event, std::initializer_list<TraceField> fields) override;

 private:
  struct Outlet {
    int fd = -1;
    int64_t dropped = 0;
  };
  void write(Outlet& outlet, std::string_view line);

  std::mutex mutex_;
  std::vector<Outlet> outlets_;
  const EventSource source_;
};

}  // namespace xdc
