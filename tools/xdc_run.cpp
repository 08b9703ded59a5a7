// xdc-run: trains a scenario for real, one process a rank, and prints what came of it.
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "core/base/log.hpp"
#include "core/config/scenario.hpp"
#include "core/math/numerics.hpp"
#include "core/rank_main/variant_facts.hpp"
#include "core/report/table.hpp"
#include "core/validate/validate.hpp"
#include "exec/cuda/summary.hpp"
#include "exec/launcher/launcher.hpp"
#include "exec/launcher/rank_process.hpp"

namespace {

using namespace xdc;

constexpr int kDone = 0;
constexpr int kExpectationFailed = 1;
constexpr int kBadInput = 2;
constexpr int kRunFailed = 3;

struct Options {
  std::string scenario;
  std::vector<std::string> variants;
  std::vector<std::string> sets;
  std::string json;
  std::string device;
  std::string log_directory;
  std::optional<uint64_t> seed;
  bool validate_only = false;
  std::string rank;  // for the launcher's own use
};

// nullopt: nothing is to be run; `exit_code` says what came of it.
std::optional<Options> read_command_line(int argc, char** argv, int& exit_code) {
  Options options;
  CLI::App app{"Trains a scenario for real, one process a rank on this machine, and prints a table of what came of it."};
  app.set_version_flag("--version", fmt::format("xdc-run {}", XDC_VERSION));
  app.add_option("SCENARIO", options.scenario, "The scenario file")->required();
  app.add_option("--variant", options.variants, "Run only the variant of this name; may be given again")->expected(1);
  app.add_option("--set", options.sets, "Override a key of the scenario, as in --set train.stop.epochs=1; may be given again")->expected(1);
  app.add_option("--json", options.json, "Write the report as JSON to this file; - writes it to stdout, and the table to stderr");
  app.add_option("--seed", options.seed, "Override the scenario's seed");
  app.add_option("--device", options.device, "cpu or cuda; default: what the topology's devices are")
      ->check(CLI::IsMember({"cpu", "cuda"}));
  app.add_option("--log-dir", options.log_directory, "Also write each rank's output and events to files in this directory");
  app.add_flag("--validate", options.validate_only, "Check the scenario, its topology and data, and run nothing");
  app.add_option(kRankOption, options.rank)->group("");
  app.footer("Exit codes: 0 done, 1 an expectation failed, 2 bad input, 3 the run failed.");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    exit_code = app.exit(error) == 0 ? kDone : kBadInput;
    return std::nullopt;
  }
  if (options.seed) {
    options.sets.push_back(fmt::format("seed={}", *options.seed));
  }
  return options;
}

bool keep_named(std::vector<ScenarioVariant>& variants, const std::vector<std::string>& names) {
  std::vector<std::string> known;
  for (const ScenarioVariant& variant : variants) {
    known.push_back(variant.name);
  }
  bool all_known = true;
  for (const std::string& name : names) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      const std::string nearest = nearest_name(name, known);
      log(LogLevel::error, fmt::format("--variant: there is no \"{}\"{}; there are: {}", name,
                                       nearest.empty() ? "" : fmt::format(" (did you mean \"{}\"?)", nearest), fmt::join(known, ", ")));
      all_known = false;
    }
  }
  std::erase_if(variants, [&names](const ScenarioVariant& variant) {
    return !names.empty() && std::find(names.begin(), names.end(), variant.name) == names.end();
  });
  return all_known;
}

// Empty after errors, which are printed.
std::vector<RunSpec> read_specs(const Options& options) {
  Diagnostics diagnostics;
  std::optional<Scenario> scenario = read_scenario(options.scenario, options.sets, diagnostics);
  std::vector<RunSpec> specs;
  if (scenario && keep_named(scenario->variants, options.variants)) {
    specs = validate(*scenario, diagnostics);
  }
  if (!diagnostics.ok()) {
    std::fputs(diagnostics.text().c_str(), stderr);
    return {};
  }
  for (const RunSpec& spec : specs) {
    if (spec.payload == PayloadKind::phantom) {
      log(LogLevel::error,
          fmt::format("{}: payload = \"phantom\" has no contents to train with; simulate it with xdc-sim, or say payload = \"real\"",
                      options.scenario));
      return {};
    }
  }
  return specs;
}

// Says which device is used, and why that one.
Status choose_device(const std::string& asked, const RunSpec& spec) {
  const bool topology_says_cuda =
      std::any_of(spec.devices.begin(), spec.devices.end(), [](const DeviceSpec& device) { return device.name != "cpu"; });
  const bool cuda = asked.empty() ? topology_says_cuda : asked == "cuda";
  const std::string why = asked.empty() ? fmt::format("as the topology {} says", spec.topology.path) : "as --device says";
  if (cuda) {
    const auto summary = cuda_device_summary();
    return Error{ErrorCode::unsupported,
                 fmt::format("device cuda, {}: {}; --device cpu trains the same on processors", why,
                             summary.ok() ? "training on GPUs is not part of this version (there is " + summary.value() + ")"
                                          : summary.error().message)};
  }
  log(LogLevel::info, fmt::format("device cpu, {}; {}", why, describe_numerics()));
  return ok_status();
}

std::vector<std::string> rank_arguments(const char* program, const Options& options, const RunSpec& spec) {
  std::vector<std::string> arguments{program, options.scenario, "--variant", spec.variant, "--device", "cpu"};
  for (const std::string& set : options.sets) {
    arguments.insert(arguments.end(), {"--set", set});
  }
  return arguments;
}

RunReport report_head(const Options& options, const std::vector<RunSpec>& specs) {
  const RunSpec& first = specs.front();
  RunReport report;
  report.program = "xdc-run";
  report.version = XDC_VERSION;
  report.scenario = options.scenario;
  report.scenario_digest = first.scenario_digest;
  report.seed = first.seed;
  report.payload = "real";
  report.numerics = first.numerics == Numerics::native ? "native" : "portable";
  report.model = first.model_name;
  report.data = first.data.source;
  report.datacenters = first.cluster().datacenters;
  return report;
}

VariantReport run_variant(const char* program, const Options& options, const RunSpec& spec, bool& interrupted) {
  const VariantFacts facts = facts_of(spec);
  log(LogLevel::info, fmt::format("variant \"{}\": {} ranks", spec.variant, spec.cluster().members.size()));
  const SteadyClock clock;
  const auto members = launch(spec, {rank_arguments(program, options, spec), options.log_directory});
  auto report = members.ok() ? assemble(facts, members.value()) : Result<VariantReport>(members.error());
  if (!report.ok()) {
    interrupted = report.error().code == ErrorCode::aborted;
    log(LogLevel::error, fmt::format("variant \"{}\": {}", spec.variant, report.error().message));
    report = failed_variant(facts, report.error().message);
  }
  report.value().wall_s = to_seconds(clock.now() - TimePoint{});
  return std::move(report).value();
}

int terminal_width(int fd) {
  winsize size{};
  return ::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : TableStyle{}.width;
}

// The table to stdout, or to stderr where stdout is for the JSON alone.
int print(const RunReport& report, const Options& options) {
  const bool json_on_stdout = options.json == "-";
  std::FILE* out = json_on_stdout ? stderr : stdout;
  const bool colour = ::isatty(::fileno(out)) == 1 && std::getenv("NO_COLOR") == nullptr;
  std::fputs(render_table(report, {colour, terminal_width(::fileno(out))}).c_str(), out);
  if (json_on_stdout) {
    std::fputs(to_json(report).c_str(), stdout);
  } else if (!options.json.empty()) {
    std::ofstream file(options.json);
    file << to_json(report) << std::flush;
    if (!file) {
      log(LogLevel::error, fmt::format("--json: cannot write {}", options.json));
      return kRunFailed;
    }
  }
  int code = kDone;
  for (const VariantReport& variant : report.variants) {
    code = !variant.error.empty() ? kRunFailed : code == kDone && !variant.expectations_met() ? kExpectationFailed : code;
  }
  return code;
}

bool make_log_directory(const std::string& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) {
    log(LogLevel::error, fmt::format("--log-dir: cannot make {}: {}", directory, error.message()));
  }
  return !error;
}

int run(int argc, char** argv) {
  int exit_code = kDone;
  const auto options = read_command_line(argc, argv, exit_code);
  if (!options) {
    return exit_code;
  }
  const std::vector<RunSpec> specs = read_specs(*options);
  if (specs.empty()) {
    return kBadInput;
  }
  if (!options->rank.empty()) {
    const auto rank = read_rank_options(options->rank);
    if (!rank.ok()) {
      log(LogLevel::error, rank.error().message);
      return kBadInput;
    }
    return run_rank_process(specs.front(), rank.value());
  }
  if (const Status device = choose_device(options->device, specs.front()); !device.ok()) {
    log(LogLevel::error, device.error().message);
    return kBadInput;
  }
  if (options->validate_only) {
    log(LogLevel::info, fmt::format("{}: {} variants can be run", options->scenario, specs.size()));
    return kDone;
  }
  if (!options->log_directory.empty() && !make_log_directory(options->log_directory)) {
    return kBadInput;
  }
  RunReport report = report_head(*options, specs);
  bool interrupted = false;
  for (size_t i = 0; i < specs.size() && !interrupted; ++i) {
    report.variants.push_back(run_variant(argv[0], *options, specs[i], interrupted));
  }
  return interrupted ? kRunFailed : print(report, *options);
}

}  // namespace

int main(int argc, char** argv) { return run(argc, argv); }
