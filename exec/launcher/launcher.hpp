// How does one command become a run of many ranks on this machine? One process a member, and a store for them to meet at.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/report/report.hpp"
#include "core/validate/run_spec.hpp"

namespace xdc {

struct LaunchOptions {
  // The command line of a rank (argv[0] included) up to what tells it which one it is: scenario, --set, --variant, ...
  std::vector<std::string> rank_arguments;
  // Where each rank's output is also written, and its events; empty: nowhere. Must exist.
  std::string log_directory;
  // Hears each line of a rank, "[beijing/3] ..."; and how far the run is, 0 to 1. On the calling thread.
  std::function<void(std::string_view line)> show_line;
  std::function<void(double part)> show_progress;
};

// Starts one child a member (this very program, see rank_process.hpp), keeps the store, passes their output on, and
// returns when all have ended, with every member's report. SIGINT, SIGTERM and SIGHUP end the ranks, a second one at once. When
// one rank fails, the others get a moment to see it and are ended.
// Errors: failed, names the rank that failed first, how, and what it said last; aborted, after a signal.
// Requirement: called by the main thread, before other threads are started; the process has no other children.
Result<std::vector<MemberReport>> launch(const RunSpec& spec, const LaunchOptions& options);

// "beijing/3", "beijing/server0": what stands in front of a member's lines.
std::string short_name(const Cluster& cluster, MemberId member);

}  // namespace xdc
