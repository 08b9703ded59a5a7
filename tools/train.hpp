// What does xdc-run do when it really runs? Every variant in turn, with its ranks as processes, to one report.
#pragma once

#include <string>
#include <vector>

#include "exec/launcher/environment.hpp"
#include "exec/launcher/placement.hpp"
#include "tools/program.hpp"

namespace xdc {

// As given on the command line; empty: not given.
struct TrainingOptions {
  ScenarioRequest request;
  std::string program;                // argv[0]
  std::string json, events, metrics;  // where to
  std::string checkpoint, under;      // a directory; a command that runs each rank
  bool resume = false;
  bool without_waiting = false;  // in a rehearsal
  bool emulates_wan = false;     // with `placements` at EmulatedWan's addresses
};

// `placements`: where each variant's members are. Returns the exit code; says on stderr why it is not 0. By the main thread, while the
// process has no children.
int train(const TrainingOptions& options, const Request& request, const std::vector<Placement>& placements, const Plan& plan);

}  // namespace xdc
