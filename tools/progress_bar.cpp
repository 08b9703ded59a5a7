#include "tools/progress_bar.hpp"

#include <fmt/format.h>

#include "core/report/progress.hpp"
#include "tools/program.hpp"

namespace xdc {

ProgressBar::ProgressBar(std::vector<std::string> names) : names_(std::move(names)), shown_(is_terminal(stderr)) {}

void ProgressBar::show(const std::vector<double>& parts) {
  if (!shown_) return;
  std::vector<ProgressItem> items;
  for (size_t i = 0; i < names_.size(); ++i) items.push_back({names_[i], parts[i]});
  auto line = progress_line(items, terminal_width(stderr) - 1);
  if (line == last_) return;
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
