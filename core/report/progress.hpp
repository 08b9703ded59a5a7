// How far is it? One line that a terminal overwrites.
#pragma once

#include <string>
#include <vector>

namespace xdc {

struct ProgressItem {
  std::string name;
  double part = 0;  // 0 to 1
};

// "[=====>    ]  53 %  2 of 5 variants done, now: ring, hierarchical", at most `width` columns, no newline.
std::string progress_line(const std::vector<ProgressItem>& items, int width);

}  // namespace xdc
