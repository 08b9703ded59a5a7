// How do several variants run at once? One child process each, at most `jobs` at a time: a process can hold one simulation, and
// one that crashes takes no other with it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/report/report.hpp"

namespace xdc {

// What a child hands back, in the order of tasks. nullopt: interrupted before it was done.
struct TaskOutcome {
  std::optional<Result<std::vector<MemberReport>>> reports;
  double wall_s = 0;
};

// What a task may say while it runs.
struct TaskVoice {
  std::function<void(double)> progress;          // the part that is done
  std::function<void(std::string_view)> text;    // whatever the parent wants to hear of it
  std::function<void(std::string_view)> events;  // likewise, kept apart
};

// Runs in the child.
using Task = std::function<Result<std::vector<MemberReport>>(const TaskVoice& voice)>;

// All are called in the parent; any may be empty.
struct SideBySideOptions {
  int jobs = 1;
  // With the part that is done of every task, whenever it changes.
  std::function<void(const std::vector<double>&)> progress = {};
  // What a task said, in order, in pieces of any size.
  std::function<void(size_t task, std::string_view text)> text = {};
  std::function<void(size_t task, std::string_view text)> events = {};
  // A task has ended.
  std::function<void(size_t task, const TaskOutcome& outcome)> ended = {};
  // Whether a running task is to wait before it says more. Not all of them at once.
  std::function<bool(size_t task)> waits = {};
  // Whether to end everything now, as an interrupt does.
  std::function<bool()> enough = {};
};

// Returns when all tasks have ended, when it is enough, or after SIGINT, SIGTERM or SIGHUP, which kill and reap what runs (`interrupted` is
// then set). A child that dies is that task's error: "was killed by signal 11 (Segmentation fault)". The process must have no other
// children and no other threads.
std::vector<TaskOutcome> run_side_by_side(const std::vector<Task>& tasks, const SideBySideOptions& options, bool& interrupted);

}  // namespace xdc
