#include "tools/progress_bar.hpp"

#include <fmt/format.h>

#include "tools/program.hpp"

namespace xdc {

ProgressBar::ProgressBar() : shown_(is_terminal(stderr)) {}

int ProgressBar::width() const { return terminal_width(stderr) - 1; }

void ProgressBar::show(std::string line) {
  if (!shown_ || line == last_) return;
  last_ = std::move(line);
  draw();
}

void ProgressBar::draw() {
  if (last_.empty()) return;
  fmt::print(stderr, "\r\x1b[K{}", last_);
  std::fflush(stderr);
}

void ProgressBar::clear() {
  if (!last_.empty()) fmt::print(stderr, "\r\x1b[K");
  last_.clear();
}

void ProgressBar::print_line(std::string_view line) {
  fmt::print(stderr, "{}{}\n", last_.empty() ? "" : "\r\x1b[K", line);
  draw();
}

}  // namespace xdc
