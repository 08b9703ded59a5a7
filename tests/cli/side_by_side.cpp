// What the programs do with what their child processes say, and with what a report says.
#include "tools/side_by_side.hpp"

#include <unistd.h>

#include <catch2/catch.hpp>

#include "tools/program.hpp"

namespace xdc {
namespace {

using Outcome = Result<std::vector<MemberReport>>;

Outcome nothing() { return std::vector<MemberReport>{}; }

TEST_CASE("what a task says is heard whole and in order before its end") {
  const std::vector<Task> tasks{[](const TaskVoice& voice) {
    for (int i = 0; i < 50'000; ++i) voice.text("line " + std::to_string(i) + "\n");
    return nothing();
  }};
  std::string wanted, heard;
  for (int i = 0; i < 50'000; ++i) wanted += "line " + std::to_string(i) + "\n";
  bool all_heard = false, interrupted = true;
  SideBySideOptions options;
  options.text = [&](size_t task, std::string_view text) {
    CHECK(task == 0);
    heard += text;
  };
  options.ended = [&](size_t, const TaskOutcome& outcome) { all_heard = heard == wanted && outcome.reports->ok(); };
  const auto outcomes = run_side_by_side(tasks, options, interrupted);
  CHECK(all_heard);
  CHECK_FALSE(interrupted);
  CHECK(outcomes[0].reports->ok());
}

TEST_CASE("when it is enough every task ends, and none of them counts as interrupted by a user") {
  const Task endless = [](const TaskVoice& voice) {
    voice.text(std::string(100'000, 'x'));
    for (;;) sleep(1);
    return nothing();
  };
  bool interrupted = true, enough = false;
  SideBySideOptions options{2};
  options.text = [&](size_t, std::string_view) { enough = true; };
  options.enough = [&] { return enough; };
  const auto outcomes = run_side_by_side({endless, endless}, options, interrupted);
  CHECK_FALSE(interrupted);
  CHECK_FALSE(outcomes[0].reports);
  CHECK_FALSE(outcomes[1].reports);
}

TEST_CASE("a task that is to wait is not heard until the other one has followed") {
  const Task talker = [](const TaskVoice& voice) {
    for (int i = 0; i < 100; ++i) voice.text(std::string(100'000, 'x'));
    return nothing();
  };
  size_t said[2] = {0, 0};
  size_t most_ahead = 0;
  bool interrupted = true, over = false;
  SideBySideOptions options{2};
  options.text = [&](size_t task, std::string_view text) {
    said[task] += text.size();
    if (!over) most_ahead = std::max(most_ahead, said[0] > said[1] ? said[0] - said[1] : 0);
  };
  options.ended = [&](size_t task, const TaskOutcome&) { over = over || task == 1; };
  options.waits = [&](size_t task) { return task == 0 && said[0] > said[1] && !over; };
  run_side_by_side({talker, talker}, options, interrupted);
  CHECK(said[0] == 10'000'000);
  CHECK(said[1] == 10'000'000);
  CHECK(most_ahead < 1'000'000);
}

TEST_CASE("a violated bound is a run that failed, whatever was expected of it") {
  RunReport report;
  report.variants.resize(2);
  CHECK(exit_code_of(report) == kDone);
  report.variants[0].expectations = {{"accuracy_at_least", 0.9, 0.8, false}};
  CHECK(exit_code_of(report) == kExpectationFailed);
  report.variants[1].bound.violated = {"the time is below its lower bound"};
  CHECK(exit_code_of(report) == kRunFailed);
}

}  // namespace
}  // namespace xdc
