// xdc-sim: what would each variant of a scenario cost in time, bytes and accuracy? A thin main: options in, report out.
#include <fmt/format.h>
#include <sys/types.h>

#include <CLI/CLI.hpp>
#include <thread>

#include "core/rank_main/variant_facts.hpp"
#include "core/report/progress.hpp"
#include "core/report/table.hpp"
#include "sim/engine.hpp"
#include "tools/program.hpp"
#include "tools/side_by_side.hpp"
#include "tools/simulate.hpp"

namespace xdc {
namespace {

struct Options {
  ScenarioRequest request;
  std::string json;
  int jobs = 0;
  std::optional<int64_t> seed;
  bool validate_only = false, list_devices = false, version = false;
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
  app.add_option("--jobs", options.jobs, "variants at a time (default: number of cores)")->type_name("N")->check(CLI::Range(1, 1024));
  app.add_option("--seed", options.seed, "override the scenario's seed")->type_name("N")->check(CLI::NonNegativeNumber);
  app.add_flag("--validate", options.validate_only, "check scenario, topology and data, print the plan, run nothing");
  app.add_flag("--list-devices", options.list_devices, "print the built-in devices and where their figures are from");
  app.add_flag("--version", options.version, "print the version");
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

RunReport run_all(const Plan& plan, int jobs, bool& interrupted) {
  std::vector<Task> tasks;
  std::vector<std::string> names;
  for (const auto& spec : plan.specs) {
    tasks.emplace_back([&spec](const std::function<void(double)>& progress) { return simulate(spec, progress); });
    names.push_back(spec.variant);
  }
  ProgressBar bar(std::move(names));
  const auto outcomes = run_side_by_side(tasks, {jobs, [&](const std::vector<double>& parts) { bar.show(parts); }}, interrupted);

  auto report = report_head("xdc-sim", plan);
  report.simulator = "simgrid";
  report.simulator_version = simgrid_version();
  report.simulator_options = simgrid_options();
  for (size_t i = 0; i < outcomes.size(); ++i) {
    const auto facts = facts_of(plan.specs[i]);
    if (!outcomes[i].reports) continue;  // interrupted
    const auto& members = *outcomes[i].reports;
    auto variant = members.ok() ? assemble(facts, members.value()) : Result<VariantReport>(members.error());
    report.variants.push_back(variant.ok() ? std::move(variant).value() : failed_variant(facts, variant.error().message));
    report.variants.back().wall_s = outcomes[i].wall_s;
  }
  return report;
}

int fail(ExitCode code, const Error& error) {
  fmt::print(stderr, "xdc-sim: {}\n", error.message);
  return code;
}

int run(const Options& options) {
  const auto plan = make_plan(options.request);
  if (!plan) return kBadInput;
  if (options.validate_only) {
    const auto printed = print(stdout, describe_plan(*plan));
    return printed.ok() ? kDone : fail(kRunFailed, printed.error());
  }
  std::optional<OutputFile> json;
  if (!options.json.empty()) {
    auto opened = OutputFile::open(options.json);
    if (!opened.ok()) return fail(kBadInput, with_context(opened.error(), "--json"));
    json.emplace(std::move(opened).value());
  }
  bool interrupted = false;
  const auto report = run_all(*plan, options.jobs > 0 ? options.jobs : cores(), interrupted);

  std::FILE* table_to = json && json->is_stdout() ? stderr : stdout;
  const auto printed = print(table_to, render_table(report, {wants_colour(table_to)}));
  if (!printed.ok()) return fail(kRunFailed, printed.error());
  if (json) {
    const auto written = json->write(to_json(report));
    if (!written.ok()) return fail(kRunFailed, written.error());
  }
  if (interrupted) {
    return fail(kRunFailed,
                {ErrorCode::aborted, fmt::format("interrupted: {} of {} variants were done", report.variants.size(), plan->specs.size())});
  }
  return exit_code_of(report);
}

int dispatch(Options& options) {
  if (options.version)
    return print(stdout, fmt::format("xdc-sim {}, SimGrid {}\n", program_version(), simgrid_version())).ok() ? kDone : kRunFailed;
  if (options.list_devices) return print(stdout, describe_devices()).ok() ? kDone : kRunFailed;
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
