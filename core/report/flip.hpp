// Where would two variants change places? On the slowest line, at another bandwidth or another latency.
#pragma once

#include <string>

#include "core/report/run_report.hpp"

namespace xdc {

// A variant and what it is judged by, which grows with its step time: seconds a step, or to the target.
struct Contender {
  const VariantReport* variant = nullptr;
  double score = 0;
};

// The change of the slowest line (least rate, then most latency) that is nearest by factor and lets `second` overtake `first`: its
// bandwidth within a factor of 10,000, its latency between 1/1,000 of now and where a route would change. Steps to the target are taken to
// stay as they are. Says "cannot tell" with the reason where step_model does not meet the run of one of them.
std::string flip_text(const Contender& first, const Contender& second);

}  // namespace xdc
