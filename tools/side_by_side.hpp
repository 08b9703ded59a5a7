// How do several variants run at once? One child process each, at most `jobs` at a time: a process can hold one simulation, and
// one that crashes takes no other with it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/report/report.hpp"

namespace xdc {

// What a child hands back, in the order of tasks. nullopt: interrupted before it was done.
struct TaskOutcome {
  std::optional<Result<std::vector<MemberReport>>> reports;
  double wall_s = 0;
};

// Runs in the child.
using Task = std::function<Result<std::vector<MemberReport>>(const std::function<void(double)>& progress)>;

struct SideBySideOptions {
  int jobs = 1;
  // Called in the parent with the part that is done of every task, whenever it changes; may be empty.
  std::function<void(const std::vector<double>&)> progress;
};

// Returns when all tasks have ended, or after SIGINT, SIGTERM or SIGHUP, which kill and reap what runs (`interrupted` is then set).
// A child that dies is that task's error: "was killed by signal 11 (Segmentation fault)". The process must have no other
// children and no other threads.
std::vector<TaskOutcome> run_side_by_side(const std::vector<Task>& tasks, const SideBySideOptions& options, bool& interrupted);

}  // namespace xdc
