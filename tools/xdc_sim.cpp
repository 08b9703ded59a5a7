// xdc-sim: what would each variant of a scenario cost in time, bytes and accuracy? A thin main: options in, report out.
#include <fmt/format.h>
#include <sys/types.h>

#include <CLI/CLI.hpp>
#include <thread>

#include "core/rank_main/modelled_lines.hpp"
#include "core/rank_main/variant_facts.hpp"
#include "core/report/progress.hpp"
#include "core/report/table.hpp"
#include "core/report/timeline.hpp"
#include "sim/engine.hpp"
#include "tools/command_line.hpp"
#include "tools/program.hpp"
#include "tools/run_variants.hpp"

namespace xdc {
namespace {

struct Options {
  ScenarioRequest request;
  std::string json, trace, events;
  int jobs = 0;
  std::optional<int64_t> seed;
  bool check = false, expand = false, validate_only = false, list_devices = false, list_profiles = false, version = false;
};

constexpr const char* kFooter =
    "Exit codes: 0 done, 1 an expectation of the scenario failed, 2 bad input, 3 the run failed or was interrupted.\n"
    "Examples:\n"
    "  xdc-sim scenarios/quickstart.toml\n"
    "  xdc-sim scenarios/bank_ocr.toml --variant 'central PS' --set train.eval_every=100 --json report.json\n"
    "  xdc-sim scenarios/bank_ocr.toml --set 'train.stop={ steps = 50 }' --set payload=phantom\n";

void declare(CLI::App& app, Options& options) {
  app.footer(kFooter);
  app.add_option("SCENARIO", options.request.path, "the scenario to simulate (TOML)");
  // One value each, so that what follows is not swallowed.
  app.add_option("--variant", options.request.variants, "only this variant (may be given several times)")
      ->type_name("NAME")
      ->allow_extra_args(false);
  app.add_option("--set", options.request.sets,
                 "override a key of the scenario: a.b=c, variant[0].a=c, 'variant.NAME.a=c'; the value is TOML or a text (several times)")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  app.add_option("--json", options.json, "write the report as JSON; -: to stdout, and the table to stderr")->type_name("FILE");
  auto* trace =
      app.add_option("--trace", options.trace, "write what happened when, in virtual time, for ui.perfetto.dev")->type_name("FILE");
  auto* events = app.add_option("--events", options.events, "write every rank's steps, exchanges and evaluations, one JSON object a line")
                     ->type_name("FILE");
  app.add_flag("--check", options.check, "run every variant twice and stop at the first event that differs (exit code 1)")
      ->excludes(trace)
      ->excludes(events);
  app.add_flag("--expand", options.expand,
               "phantom runs: simulate every rank by itself, also those that nothing tells apart (same results, more time and memory)");
  app.add_option("--jobs", options.jobs, "variants at a time (default: number of cores)")->type_name("N")->check(CLI::Range(1, 1024));
  app.add_option("--seed", options.seed, "override the scenario's seed")->type_name("N")->check(whole_number());
  app.add_flag("--validate", options.validate_only, "check scenario, topology and data, print the plan, run nothing");
  app.add_flag("--list-devices", options.list_devices, "print the built-in devices and where their figures are from");
  app.add_flag("--list-profiles", options.list_profiles, "print the built-in cost profiles and where their figures are from");
  app.add_flag("--version", options.version, "print the version");
  refuse_empty_values(app, {"--json", "--events", "--trace"});
}

int cores() { return static_cast<int>(std::max(1U, std::thread::hardware_concurrency())); }

// Draws over itself on stderr; nothing where that is no terminal.
class ProgressBar {
 public:
  explicit ProgressBar(std::vector<std::string> names) : names_(std::move(names)), shown_(is_terminal(stderr)) {}
  ~ProgressBar() { clear(); }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void show(const std::vector<double>& parts) {
    if (!shown_) return;
    std::vector<ProgressItem> items;
    for (size_t i = 0; i < names_.size(); ++i) items.push_back({names_[i], parts[i]});
    const auto line = progress_line(items, terminal_width(stderr) - 1);
    if (line == last_) return;
    last_ = line;
    fmt::print(stderr, "\r\x1b[K{}", line);
    std::fflush(stderr);
  }

  void clear() {
    if (shown_ && !last_.empty()) fmt::print(stderr, "\r\x1b[K");
    last_.clear();
  }

 private:
  std::vector<std::string> names_;
  bool shown_;
  std::string last_;
};

RunReport report_of(const Plan& plan, const VariantRuns& runs) {
  auto report = report_head("xdc-sim", plan);
  report.simulator = "simgrid";
  report.simulator_version = simgrid_version();
  report.simulator_options = simgrid_options();
  for (size_t i = 0; i < runs.outcomes.size(); ++i) {
    if (!runs.outcomes[i].reports) continue;  // interrupted
    auto facts = facts_of(plan.specs[i]);
    add_lines(plan.specs[i], facts);
    const auto& members = *runs.outcomes[i].reports;
    auto variant = members.ok() ? assemble(facts, members.value()) : Result<VariantReport>(members.error());
    report.variants.push_back(variant.ok() ? std::move(variant).value() : failed_variant(facts, variant.error().message));
    report.variants.back().wall_s = runs.outcomes[i].wall_s;
  }
  return report;
}

int fail(ExitCode code, const Error& error) {
  fmt::print(stderr, "xdc-sim: {}\n", error.message);
  return code;
}

// Files named on the command line, opened before the run.
struct Outputs {
  std::optional<OutputFile> json, trace, events;
};

Status open_output(const std::string& option, const std::string& path, std::optional<OutputFile>& file) {
  if (path.empty()) return ok_status();
  auto opened = OutputFile::open(path);
  if (!opened.ok()) return with_context(opened.error(), option);
  file.emplace(std::move(opened).value());
  return ok_status();
}

Status open_outputs(const Options& options, Outputs& outputs) {
  XDC_TRY(check_output_paths({{"--json", options.json}, {"--events", options.events}, {"--trace", options.trace}}));
  XDC_TRY(open_output("--json", options.json, outputs.json));
  XDC_TRY(open_output("--events", options.events, outputs.events));
  return open_output("--trace", options.trace, outputs.trace);
}

VariantRuns run_all(const Options& options, const Plan& plan) {
  RunStyle style{options.jobs > 0 ? options.jobs : cores(), options.check, !options.trace.empty(), !options.events.empty(), options.expand};
  std::optional<ProgressBar> bar;
  style.progress = [&](const std::vector<std::string>& names, const std::vector<double>& parts) {
    if (!bar) bar.emplace(names);
    bar->show(parts);
  };
  return run_variants(plan.specs, style);
}

Status write_outputs(const VariantRuns& runs, const RunReport& report, Outputs& outputs) {
  std::FILE* table_to = outputs.json && outputs.json->is_stdout() ? stderr : stdout;
  XDC_TRY(print(table_to, render_table(report, table_style(table_to))));
  if (outputs.json) XDC_TRY(outputs.json->write(to_json(report)));
  if (outputs.events) XDC_TRY(outputs.events->write(fmt::format("{}", fmt::join(runs.events_said, ""))));
  if (outputs.trace) XDC_TRY(outputs.trace->write(timeline_file(runs.timelines)));
  return ok_status();
}

int run(const Options& options) {
  auto plan = make_plan(options.request);
  if (!plan) return kBadInput;
  for (auto& spec : plan->specs) {
    spec.keeps_checkpoints = spec.checkpoint.has_value();
    spec.program_version = program_version();
  }
  if (options.validate_only) {
    const auto printed = print(stdout, describe_plan(*plan));
    return printed.ok() ? kDone : fail(kRunFailed, printed.error());
  }
  Outputs outputs;
  if (const auto opened = open_outputs(options, outputs); !opened.ok()) return fail(kBadInput, opened.error());
  const auto runs = run_all(options, *plan);
  if (!runs.difference.empty()) return fail(kExpectationFailed, {ErrorCode::failed, "--check: " + runs.difference});
  const auto report = report_of(*plan, runs);
  if (const auto written = write_outputs(runs, report, outputs); !written.ok()) return fail(kRunFailed, written.error());
  if (runs.interrupted) {
    return fail(kRunFailed,
                {ErrorCode::aborted, fmt::format("interrupted: {} of {} variants were done", report.variants.size(), plan->specs.size())});
  }
  const auto code = exit_code_of(report);
  if (options.check && code != kRunFailed) {
    fmt::print(stderr, "xdc-sim: --check: {} variants ran twice, {} events and all accounts were equal\n", report.variants.size(),
               runs.events);
  }
  return code;
}

int dispatch(Options& options) {
  if (options.version)
    return print(stdout, fmt::format("xdc-sim {}, SimGrid {}\n", program_version(), simgrid_version())).ok() ? kDone : kRunFailed;
  if (options.list_devices) return print(stdout, describe_devices()).ok() ? kDone : kRunFailed;
  if (options.list_profiles) return print(stdout, describe_profiles()).ok() ? kDone : kRunFailed;
  if (options.request.path.empty()) {
    fmt::print(stderr, "xdc-sim: which scenario? Try scenarios/quickstart.toml, or --help\n");
    return kBadInput;
  }
  if (options.seed) options.request.sets.push_back(fmt::format("seed={}", *options.seed));
  return run(options);
}

}  // namespace
}  // namespace xdc

int main(int argc, char** argv) {
  CLI::App app("Compares ways to train a model across datacenters, by simulation.", "xdc-sim");
  xdc::Options options;
  xdc::declare(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? xdc::kDone : xdc::kBadInput;
  }
  return xdc::dispatch(options);
}
