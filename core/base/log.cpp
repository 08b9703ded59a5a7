#include "core/base/log.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <string>

namespace xdc {
namespace {

LogLevel threshold = LogLevel::info;
std::string prefix;

const char* word(LogLevel level) {
  switch (level) {
    case LogLevel::error:
      return "error: ";
    case LogLevel::warning:
      return "warning: ";
    case LogLevel::info:
      return "";
    case LogLevel::debug:
      return "debug: ";
  }
  return "";
}

}  // namespace

void set_log_level(LogLevel level) { threshold = level; }

void set_log_prefix(std::string_view text) { prefix = text.empty() ? std::string() : fmt::format(" {}", text); }

void log(LogLevel level, std::string_view message) {
  if (level > threshold) return;
  // stderr has no buffer: one fwrite is one write, so lines of several processes and threads do not mix.
  const auto line = fmt::format("xdc{}: {}{}\n", prefix, word(level), message);
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace xdc
