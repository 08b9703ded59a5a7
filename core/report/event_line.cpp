#include "core/report/event_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <utility>
#include <vector>

#include "core/base/check.hpp"

namespace xdc {
namespace {

constexpr std::string_view kFront = "{\"time_ns\":";

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
  void operator()(int64_t v) const { fmt::format_to(std::back_inserter(out), "{}", v); }
  // JSON has no NaN and no infinity.
  void operator()(double v) const {
    if (std::isfinite(v)) {
      fmt::format_to(std::back_inserter(out), "{}", v);
    } else {
      out += "null";
    }
  }
  void operator()(std::string_view v) const { append_quoted(out, v); }
};

}  // namespace

std::string event_line(const EventSource& source, TimePoint time, int64_t step, std::string_view event, std::span<const TraceField> fields,
                       int64_t dropped) {
  std::string line;
  fmt::format_to(std::back_inserter(line), "{}{},\"variant\":", kFront, time.ns);
  append_quoted(line, source.variant);
  line += ",\"datacenter\":";
  append_quoted(line, source.datacenter);
  fmt::format_to(std::back_inserter(line), ",\"rank\":{},\"step\":{},\"event\":", source.rank, step);
  append_quoted(line, event);
  for (const TraceField& field : fields) {
    line += ',';
    append_quoted(line, field.key);
    line += ':';
    std::visit(AppendValue{line}, field.value);
  }
  if (dropped > 0) fmt::format_to(std::back_inserter(line), ",\"dropped\":{}", dropped);
  line += "}\n";
  return line;
}

std::string sorted_by_time(std::string_view lines) {
  std::vector<std::pair<int64_t, std::string_view>> all;
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find('\n') + 1);
    int64_t time = 0;
    const char* digits = line.data() + kFront.size();
    XDC_CHECK_MSG(line.starts_with(kFront) && std::from_chars(digits, line.data() + line.size(), time).ptr > digits,
                  "this is no line of event_line()");
    all.emplace_back(time, line);
    lines.remove_prefix(line.size());
  }
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::string out;
  for (const auto& [time, line] : all) out += line;
  return out;
}

}  // namespace xdc
