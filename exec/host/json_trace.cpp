#include "exec/host/json_trace.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include "core/base/log.hpp"

namespace xdc {

JsonTrace::JsonTrace(const std::vector<int>& fds, EventSource source) : source_(std::move(source)) {
  for (const int fd : fds) {
    outlets_.push_back({fd, 0});
  }
}

void JsonTrace::record(TimePoint time, int64_t step, std::string_view event, std::initializer_list<TraceField> fields) {
  if (outlets_.empty()) {
    return;
  }
  const std::span<const TraceField> all(fields.begin(), fields.size());
  const std::string line = event_line(source_, time, step, event, all);
  const std::lock_guard lock(mutex_);
  for (Outlet& outlet : outlets_) {
    if (outlet.fd >= 0) {
      write(outlet, outlet.dropped == 0 ? line : event_line(source_, time, step, event, all, outlet.dropped));
    }
  }
}

void JsonTrace::write(Outlet& outlet, std::string_view line) {
  // A writable pipe takes a line of up to PIPE_BUF bytes at once and whole; events are far shorter. Another writer may be faster.
  pollfd writable{outlet.fd, POLLOUT, 0};
  if (::poll(&writable, 1, 0) == 0) {
    ++outlet.dropped;
    return;
  }
  const ssize_t written = ::write(outlet.fd, line.data(), line.size());
  if (written == static_cast<ssize_t>(line.size())) {
    outlet.dropped = 0;
  } else if (written < 0 && errno == EAGAIN) {
    ++outlet.dropped;
  } else {
    const std::string why = written < 0 ? std::generic_category().message(errno) : "no space is left for a whole line";
    log(LogLevel::warning, fmt::format("events of {} rank {} cannot be written any more: {}", source_.datacenter, source_.rank, why));
    outlet.fd = -1;
  }
}

}  // namespace xdc
