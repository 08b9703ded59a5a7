#include "core/report/progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/report/text.hpp"

namespace xdc {

std::string progress_line(const std::vector<ProgressItem>& items, int width) {
  constexpr int kBar = 30;
  double sum = 0;
  int done = 0;
  std::string running;
  for (const auto& item : items) {
    const double part = std::clamp(item.part, 0.0, 1.0);
    sum += part;
    if (part >= 1) {
      ++done;
    } else if (part > 0) {
      running += (running.empty() ? ", now: " : ", ") + item.name;
    }
  }
  const double part = items.empty() ? 1 : sum / static_cast<double>(items.size());
  const int full = static_cast<int>(part * kBar);
  std::string bar(static_cast<size_t>(full), '=');
  if (full < kBar) bar += '>';
  const auto text =
      fmt::format("[{:<{}}] {:3.0f} %  {} of {} variants done{}", bar, kBar, std::floor(part * 100), done, items.size(), running);
  return shortened_to(text, std::max(1, width));
}

}  // namespace xdc
