// What does a planner read? One table of variants, one of lines, and which variant is best for what, in at most `width`
// columns.
#pragma once

#include <string>

#include "core/report/run_report.hpp"

namespace xdc {

struct TableStyle {
  bool colour = false;  // only on a terminal whose user has not set NO_COLOR: the program decides
  int width = 120;
};

std::string render_table(const RunReport& report, const TableStyle& style);

}  // namespace xdc
