// How far is it, on a terminal? One line of stderr that draws over itself; nothing where stderr is no terminal.
#pragma once

#include <string>
#include <string_view>

namespace xdc {

class ProgressBar {
 public:
  ProgressBar();
  ~ProgressBar() { clear(); }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  bool shown() const { return shown_; }
  int width() const;  // of what it can show; now, for windows change
  // Requires at most width() columns.
  void show(std::string line);
  void clear();
  // A line for good, above the bar.
  void print_line(std::string_view line);

 private:
  void draw();

  bool shown_;
  std::string last_;
};

}  // namespace xdc
