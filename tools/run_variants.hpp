// How are a scenario's variants simulated: once each, twice each for --check, with a timeline for --trace, with --events?
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/validate/run_spec.hpp"
#include "tools/side_by_side.hpp"

namespace xdc {

struct VariantRuns {
  std::vector<TaskOutcome> outcomes;     // one a variant
  std::vector<std::string> timelines;    // parts for timeline_file(), one a variant; empty without --trace
  std::vector<std::string> events_said;  // lines, one text a variant, in order of virtual time; empty without --events
  std::string difference;                // --check: what differs first, on several lines; empty: nothing
  int64_t events = 0;                    // --check: how many were equal
  bool interrupted = false;
};

struct RunStyle {
  int jobs = 1;
  bool twice = false;
  bool timeline = false;  // not together with twice
  bool events = false;    // nor is this
  bool expand = false;    // as simulate() has it
  // With names of what runs and the part that is done of each.
  std::function<void(const std::vector<std::string>& names, const std::vector<double>& parts)> progress = {};
};

// With `twice` both runs of a variant go side by side, so at least two processes whatever `jobs` says, and all ends at the first difference
// of any variant.
VariantRuns run_variants(const std::vector<RunSpec>& specs, const RunStyle& style);

}  // namespace xdc
