// What do both programs share beside core? Reading the command line's scenario, the report's head, output files, the terminal.
#pragma once

#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/config/scenario.hpp"
#include "core/report/run_report.hpp"
#include "core/report/table.hpp"
#include "core/validate/run_spec.hpp"

namespace xdc {

// What a program's exit code says.
enum ExitCode : int { kDone = 0, kExpectationFailed = 1, kBadInput = 2, kRunFailed = 3 };

// "0.1.0 (4082b06b, Release)": the build's id is part of it.
std::string program_version();

// The variants of a scenario that are to be run, in the order of the file.
struct Plan {
  Scenario scenario;
  std::vector<RunSpec> specs;
};

struct ScenarioRequest {
  std::string path;
  std::vector<std::string> sets;      // --set a.b=c
  std::vector<std::string> variants;  // --variant NAME; empty: all
};

// Reads and validates. nullopt: every error was printed to stderr.
std::optional<Plan> make_plan(const ScenarioRequest& request);

// Everything but the variants and the simulator.
RunReport report_head(const std::string& program, const Plan& plan);
// Also for a violated bound. kRunFailed before kExpectationFailed before kDone.
ExitCode exit_code_of(const RunReport& report);

// What --validate prints: one line a variant.
std::string describe_plan(const Plan& plan);
// What --list-devices prints.
std::string describe_devices();
// What --list-profiles prints.
std::string describe_profiles();

// Colour and progress are for people: only on a terminal, and no colour where NO_COLOR is set.
bool wants_colour(std::FILE* stream);
bool is_terminal(std::FILE* stream);
int terminal_width(std::FILE* stream);
// On a terminal as wide as that, but no wider than a line is read with ease.
TableStyle table_style(std::FILE* stream);

// A file that is written once, at the end, whole: under a temporary name beside it until then. "-" is stdout.
class OutputFile {
 public:
  // Errors: invalid, when the path cannot be written; found now, not after the run.
  static Result<OutputFile> open(const std::string& path);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();  // what was not written leaves nothing behind

  bool is_stdout() const { return path_ == "-"; }
  // Errors: failed ("no space left on device").
  Status write(const std::string& text);

 private:
  OutputFile() = default;
  std::string path_, temporary_;
  int fd_ = -1;
};

// Prints to stdout or stderr and notices a full disk. Errors: failed.
Status print(std::FILE* stream, const std::string& text);

}  // namespace xdc
