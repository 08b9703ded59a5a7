// How far is it, on a terminal? One line of stderr that draws over itself; nothing where stderr is no terminal.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace xdc {

class ProgressBar {
 public:
  // One part per name.
  explicit ProgressBar(std::vector<std::string> names);
  ~ProgressBar() { clear(); }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void show(const std::vector<double>& parts);
  void clear();
  // A line for good, above the bar.
  void print_line(std::string_view line);

 private:
  void draw();

  std::vector<std::string> names_;
  bool shown_;
  std::string last_;
};

}  // namespace xdc
