#include "tools/train.hpp"

#include <fmt/format.h>

#include <CLI/StringTools.hpp>
#include <filesystem>
#include <memory>
#include <optional>

#include "core/rank_main/variant_facts.hpp"
#include "core/report/table.hpp"
#include "exec/emu/emulated_wan.hpp"
#include "exec/host/steady_clock.hpp"
#include "exec/launcher/event_file.hpp"
#include "exec/launcher/fingerprint.hpp"
#include "exec/launcher/launcher.hpp"
#include "exec/metrics/metrics_server.hpp"
#include "tools/command_line.hpp"
#include "tools/computing.hpp"
#include "tools/progress_bar.hpp"

namespace xdc {
namespace {

int fail(ExitCode code, const Error& error) {
  fmt::print(stderr, "xdc-run: {}\n", error.message);
  return code;
}

std::vector<std::string> rank_arguments(const TrainingOptions& options, const RunSpec& spec) {
  std::vector<std::string> arguments{options.program, options.request.path, "--variant", spec.variant};
  for (const std::string& set : options.request.sets) {
    arguments.insert(arguments.end(), {"--set", set});
  }
  if (options.without_waiting) arguments.emplace_back("--rehearse-without-waiting");
  if (!options.checkpoint.empty()) arguments.insert(arguments.end(), {"--checkpoint", options.checkpoint});
  if (options.resume) arguments.emplace_back("--resume");
  return arguments;
}

// The parts of program_version(): "0.1.0 (4082b06b, Release)".
Result<Fingerprint> fingerprint(const Plan& plan, bool waits) {
  const std::string whole = program_version();
  const auto open = whole.find(" (");
  XDC_TRY_ASSIGN(auto facts,
                 take_fingerprint(plan.specs.front(), whole.substr(0, open), whole.substr(open + 2, whole.size() - open - 3), waits));
  std::vector<std::string> names;
  for (const RunSpec& spec : plan.specs) names.push_back(spec.variant);
  facts.emplace_back("variants", fmt::format("{}", fmt::join(names, ", ")));
  return facts;
}

// What is the same for all variants of a command.
struct Running {
  const TrainingOptions& options;
  const Request& request;
  Session& session;
  const Fingerprint facts;
  ProgressBar& bar;
  int events = -1;
  MetricsServer* metrics = nullptr;
  std::vector<int> networks;  // of the emulated datacenters
  size_t variants = 0;
  bool interrupted = false;  // a signal was not waited for
  bool stopped = false;      // a signal ended a variant in good order
  bool failed = false;
};

VariantReport run_variant(Running& running, const RunSpec& spec, const Placement& placement, size_t index) {
  const VariantFacts facts = facts_of(spec);
  ProgressBar& bar = running.bar;
  bar.print_line(fmt::format("xdc-run: {}: {} processes{}", spec.variant, placement.here.size(),
                             placement.everyone ? "" : fmt::format(" here ({})", describe_members(spec.cluster(), placement.here))));
  const SteadyClock clock;
  const Request& request = running.request;
  const std::string before = running.variants == 1 ? "" : fmt::format("[{}/{}] ", index + 1, running.variants);
  const auto launched = launch(running.session, spec,
                               {rank_arguments(running.options, spec), request.log_directory ? request.log_directory->value : "",
                                [&bar](std::string_view line) { bar.print_line(line); },
                                [&](const RunStatus& status, std::span<const StatusRecord> said) {
                                  if (running.metrics != nullptr) running.metrics->update(status, said);
                                  if (bar.shown()) bar.show(status_line(status, before, bar.width()));
                                },
                                static_cast<int>(index), placement, running.facts,
                                request.allow_mismatch ? request.allow_mismatch->value : std::vector<std::string>{}, running.events,
                                CLI::detail::split_up(running.options.under), running.networks});
  const auto report = launched.ok() ? assemble(facts, launched.value().reports) : Result<VariantReport>(launched.error());
  VariantReport out = report.ok() ? report.value() : failed_variant(facts, report.error().message);
  if (!report.ok()) {
    running.interrupted = report.error().code == ErrorCode::aborted;
    running.failed = true;
    bar.print_line(fmt::format("xdc-run: {}: {}", spec.variant, report.error().message));
  } else if (launched.value().stopped) {
    running.stopped = true;
    out.warnings.push_back(fmt::format("a signal ended it after {} steps; what [expect] says was not checked", out.steps));
    for (Expectation& expectation : out.expectations) expectation.met = std::nullopt;
  }
  bar.clear();
  out.wall_s = to_seconds(clock.now() - TimePoint{});
  return out;
}

int report_all(const RunReport& report, std::optional<OutputFile>& json) {
  std::FILE* table_to = json && json->is_stdout() ? stderr : stdout;
  const auto printed = print(table_to, render_table(report, table_style(table_to)));
  if (!printed.ok()) return fail(kRunFailed, printed.error());
  if (json) {
    const auto written = json->write(to_json(report));
    if (!written.ok()) return fail(kRunFailed, written.error());
  }
  return exit_code_of(report);
}

Result<std::unique_ptr<MetricsServer>> serve_metrics(const std::string& where) {
  if (where.empty()) return std::unique_ptr<MetricsServer>();
  const auto open = [&where]() -> Result<std::unique_ptr<MetricsServer>> {
    XDC_TRY_ASSIGN(const Endpoint endpoint, parse_metrics_address(where));
    return MetricsServer::open(endpoint);
  };
  auto opened = open();
  if (!opened.ok()) return with_context(opened.error(), "--metrics " + where);
  fmt::print(stderr, "xdc-run: metrics at http://{}/metrics\n", to_string(opened.value()->address()));
  return opened;
}

Result<std::unique_ptr<EmulatedWan>> emulate(const TrainingOptions& options, const RunSpec& spec) {
  if (!options.emulates_wan) return std::unique_ptr<EmulatedWan>();
  EmulatedWan::Options settings;
  settings.seed = spec.seed;
  auto wan = EmulatedWan::start(spec.topology, settings);
  return wan.ok() ? std::move(wan) : Result<std::unique_ptr<EmulatedWan>>(with_context(wan.error(), "--emulate-wan"));
}

// The store stands at the first member's host, so it is opened in that one's network.
Result<std::unique_ptr<Session>> open_session(const EmulatedWan* wan, const RunSpec& spec, const Placement& placement, Duration patience) {
  if (wan == nullptr) return Session::open(placement, patience);
  std::unique_ptr<Session> session;
  XDC_TRY(wan->datacenter(spec.cluster().members.front().datacenter).within([&]() -> Status {
    XDC_TRY_ASSIGN(session, Session::open(placement, patience));
    return ok_status();
  }));
  return session;
}

}  // namespace

int train(const TrainingOptions& options, const Request& request, const std::vector<Placement>& placements, const Plan& plan) {
  const Status own = check_output_paths({{"--json", options.json}, {"--events", options.events}});
  if (!own.ok()) return fail(kBadInput, own.error());
  std::optional<OutputFile> json;
  if (!options.json.empty()) {
    auto opened = OutputFile::open(options.json);
    if (!opened.ok()) return fail(kBadInput, with_context(opened.error(), "--json"));
    json.emplace(std::move(opened).value());
  }
  std::optional<EventFile> events;
  if (!options.events.empty()) {
    auto opened = EventFile::open(options.events);
    if (!opened.ok()) return fail(kBadInput, with_context(opened.error(), "--events"));
    events.emplace(std::move(opened).value());
  }
  if (request.log_directory) {
    std::error_code error;
    std::filesystem::create_directories(request.log_directory->value, error);
    if (error) {
      return fail(kBadInput, {ErrorCode::invalid,
                              fmt::format("{}: {}: {}", request.log_directory->from, request.log_directory->value, error.message())});
    }
  }
  auto served = serve_metrics(options.metrics);
  if (!served.ok()) return fail(kBadInput, served.error());
  const auto metrics = std::move(served).value();
  auto facts = fingerprint(plan, !options.without_waiting);
  if (!facts.ok()) return fail(kRunFailed, facts.error());
  const Duration patience = request.start_timeout ? request.start_timeout->value : plan.specs.front().start_timeout;
  auto emulated = emulate(options, plan.specs.front());
  if (!emulated.ok()) return fail(emulated.error().code == ErrorCode::invalid ? kBadInput : kRunFailed, emulated.error());
  const EmulatedWan* wan = emulated.value().get();
  auto session = open_session(wan, plan.specs.front(), placements.front(), patience);
  if (!session.ok()) return fail(session.error().code == ErrorCode::invalid ? kBadInput : kRunFailed, session.error());
  RunReport report = report_head("xdc-run", plan);
  report.cost_profile_charged = is_rehearsal(plan.specs.front());
  if (is_rehearsal(plan.specs.front())) report.rehearsal_waits = !options.without_waiting;
  ProgressBar bar;
  Running running{options,       request, *session.value(), std::move(facts).value(), bar, events ? events->fd() : -1,
                  metrics.get(), {},      plan.specs.size()};
  for (size_t i = 0; wan != nullptr && i < plan.specs.front().topology.datacenters.size(); ++i) {
    running.networks.push_back(wan->datacenter(static_cast<int>(i)).fd());
  }
  // After a failure launchers on several machines may no longer agree on what is next.
  const auto over = [&] { return running.interrupted || running.stopped || (running.failed && !session.value()->alone()); };
  for (size_t i = 0; i < plan.specs.size() && !over(); ++i) {
    report.variants.push_back(run_variant(running, plan.specs[i], placements[i], i));
  }
  session.value()->farewell();
  bar.clear();
  if (wan != nullptr) fmt::print(stderr, "{}", describe(wan->account()));
  const auto done = report.variants.size();
  if (running.interrupted) {
    return fail(kRunFailed, {ErrorCode::aborted, fmt::format("interrupted: {} of {} variants were done", done - 1, plan.specs.size())});
  }
  if (done < plan.specs.size())
    fmt::print(stderr, "xdc-run: {} of {} variants were not begun\n", plan.specs.size() - done, plan.specs.size());
  return report_all(report, json);
}

}  // namespace xdc
