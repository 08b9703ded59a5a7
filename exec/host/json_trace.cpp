#include "exec/host/json_trace.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cmath>
#include <iterator>

namespace xdc {

namespace {

void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    } else {
      out += c;
    }
  }
  out += '"';
}

struct AppendValue {
  std::string& out;
  void operator()(int64_t v) const { out += std::to_string(v); }
  // JSON has no NaN and no infinity.
  void operator()(double v) const { out += std::isfinite(v) ? fmt::format("{}", v) : "null"; }
  void operator()(std::string_view v) const { append_quoted(out, v); }
};

}  // namespace

void JsonTrace::record(TimePoint time, int64_t step, std::string_view event, std::initializer_list<TraceField> fields) {
  if (fd_ < 0) {
    return;
  }
  std::string line = fmt::format("{{\"time_ns\":{},\"datacenter\":", time.ns);
  append_quoted(line, datacenter_);
  line += fmt::format(",\"rank\":{},\"step\":{},\"event\":", rank_, step);
  append_quoted(line, event);
  for (const TraceField& field : fields) {
    line += ',';
    append_quoted(line, field.key);
    line += ':';
    std::visit(AppendValue{line}, field.value);
  }
  const std::lock_guard lock(mutex_);
  if (dropped_ > 0) {
    line += fmt::format(",\"dropped\":{}", dropped_);
  }
  line += "}\n";
  // A writable pipe takes a line of up to PIPE_BUF bytes at once and whole; events are far shorter.
  pollfd writable{fd_, POLLOUT, 0};
  const bool sent = ::poll(&writable, 1, 0) == 1 && (writable.revents & POLLOUT) != 0 &&
                    ::write(fd_, line.data(), line.size()) == static_cast<ssize_t>(line.size());
  dropped_ = sent ? 0 : dropped_ + 1;
}

}  // namespace xdc
