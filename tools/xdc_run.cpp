// xdc-run: trains a scenario for real, one process a rank, and prints what came of it. A thin main: options in, report out.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <set>

#include "exec/cuda/summary.hpp"
#include "exec/launcher/doctor.hpp"
#include "exec/launcher/fingerprint.hpp"
#include "exec/launcher/rank_process.hpp"
#include "tools/checkpoint_options.hpp"
#include "tools/command_line.hpp"
#include "tools/computing.hpp"
#include "tools/list_members.hpp"
#include "tools/program.hpp"
#include "tools/surroundings.hpp"
#include "tools/train.hpp"

namespace xdc {
namespace {

struct Options : TrainingOptions {
  std::string device;
  Variables settings;  // --rank and its like, as given
  std::string evaluate;
  std::optional<int64_t> seed;
  bool explain_environment = false, doctor = false;
  bool validate_only = false, list_devices = false, list_profiles = false, version = false;
  std::string rank;  // for the launcher's own use
  std::string members_of;
  int servers = 0;
};

constexpr const char* kFooter =
    "Exit codes: 0 done, 1 an expectation of the scenario failed, 2 bad input, 3 the run failed, or a second signal ended it.\n"
    "Examples:\n"
    "  xdc-run scenarios/quickstart.toml\n"
    "  xdc-run scenarios/quickstart.toml --datacenter office      # and on another machine --datacenter branch\n"
    "  xdc-run scenarios/bank_ocr.toml --device cpu --variant 'central PS' --set train.stop.epochs=1 --json report.json\n";

void declare(CLI::App& app, Options& options) {
  app.footer(kFooter);
  app.add_option("SCENARIO", options.request.path, "the scenario to run (TOML)");
  // One value each, so that what follows is not swallowed.
  app.add_option("--variant", options.request.variants, "only this variant (may be given several times)")
      ->type_name("NAME")
      ->allow_extra_args(false);
  app.add_option("--set", options.request.sets,
                 "override a key of the scenario: a.b=c, variant[0].a=c, 'variant.NAME.a=c'; the value is TOML or a text (several times)")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  app.add_option("--json", options.json, "write the report as JSON; -: to stdout, and the table to stderr")->type_name("FILE");
  app.add_option("--events", options.events, "write the steps, exchanges and evaluations of every rank here, one JSON object a line")
      ->type_name("FILE");
  app.add_option("--metrics", options.metrics,
                 "serve /metrics for Prometheus here while it runs; on the loopback unless an address is given")
      ->type_name("[ADDR:]PORT");
  app.add_option("--seed", options.seed, "override the scenario's seed")->type_name("N")->check(whole_number());
  app.add_option("--device", options.device, "what ranks train on: cpu or cuda (default: what the topology's devices are)")
      ->type_name("DEVICE")
      ->check(CLI::IsMember({"cpu", "cuda"}));
  declare_settings(app, options.settings);
  app.add_flag("--explain-env", options.explain_environment,
               "print what command line and environment (XDC_*, PADDLE_*) say about who is started here, and run nothing");
  app.add_flag(
      "--doctor", options.doctor,
      "check this machine, with SCENARIO also for its part of that run: ports, peers, clock, certificates, the disk of --checkpoint; "
      "run nothing");
  app.add_flag("--rehearse-without-waiting", options.without_waiting,
               "with payload = \"phantom\": do not wait for computations either; what a step still takes is exchange and program");
  app.add_option("--checkpoint", options.checkpoint,
                 "save each variant in a directory of its own below this one: as [checkpoint] says, at the end, and when asked to stop")
      ->type_name("DIR");
  app.add_flag("--resume", options.resume, "go on from the newest intact checkpoint in --checkpoint DIR");
  auto* evaluate = app.add_option("--evaluate", options.evaluate,
                                  "score a checkpoint on the scenario's held-out set, and run nothing (DIR/VARIANT[/step-...])");
  evaluate->type_name("DIR");
  for (const char* other : {"--checkpoint", "--resume", "--json", "--events", "--metrics"}) evaluate->excludes(other);
  app.add_option("--under", options.under, "run each rank here under this command: \"valgrind\", \"numactl --cpunodebind=0\"")
      ->type_name("COMMAND");
  auto* emulate =
      app.add_flag("--emulate-wan", options.emulates_wan,
                   "start everyone here, each datacenter in a network of its own, joined by lines that are as the topology says "
                   "(root)");
  for (const char* other : {"--evaluate", "--explain-env", "--doctor"}) emulate->excludes(other);
  app.add_flag("--validate", options.validate_only, "check scenario, topology and data, print the plan, run nothing");
  app.add_flag("--list-devices", options.list_devices, "print the built-in devices and where their figures are from");
  app.add_flag("--list-profiles", options.list_profiles, "print the built-in cost profiles and where their figures are from");
  auto* members = app.add_option("--list-members", options.members_of, "print the names of a topology's members, as in their certificates");
  members->type_name("TOPOLOGY");
  app.add_option("--servers", options.servers, "also those of so many parameter servers")
      ->type_name("N")
      ->check(CLI::Range(0, 10'000))
      ->needs(members);
  app.add_flag("--version", options.version, "print the version");
  app.add_option(kRankOption, options.rank)->group("");
  refuse_empty_values(app, {"--json", "--events", "--metrics", "--checkpoint", "--evaluate", "--under", "--list-members"});
}

int fail(ExitCode code, const Error& error) {
  fmt::print(stderr, "xdc-run: {}\n", error.message);
  return code;
}

int run_rank(const Options& options, const Plan& plan) {
  auto rank = read_rank_options(options.rank);
  if (rank.ok()) rank.value().waits_for_computation = !options.without_waiting;
  if (rank.ok() && !options.checkpoint.empty()) {
    rank.value().checkpoint_directory = checkpoint_directory(options.checkpoint, plan.specs.front());
  }
  return rank.ok() ? run_rank_process(plan.specs.front(), rank.value()) : fail(kBadInput, rank.error());
}

// Where each variant's members are.
Result<std::vector<Placement>> place_all(const Request& request, const Plan& plan) {
  std::vector<Placement> placements;
  for (const RunSpec& spec : plan.specs) {
    auto placement = place(request, spec.topology, spec.cluster());
    if (!placement.ok()) return plan.specs.size() > 1 ? with_context(placement.error(), spec.variant) : placement.error();
    placements.push_back(std::move(placement).value());
  }
  return placements;
}

int explain_environment(Options& options) {
  const auto request = read_environment(options.settings, relevant_variables());
  if (!request.ok()) return fail(kBadInput, request.error());
  std::optional<Plan> plan;
  if (!options.request.path.empty()) {
    plan = make_plan(options.request);
    if (!plan) return kBadInput;
  }
  const auto text = explain_surroundings(request.value(), plan ? plan->specs : std::vector<RunSpec>{});
  if (!text.ok()) return fail(kBadInput, text.error());
  return print(stdout, text.value()).ok() ? kDone : kRunFailed;
}

int examine(Options& options) {
  const auto request = read_environment(options.settings, relevant_variables());
  if (!request.ok()) return fail(kBadInput, request.error());
  std::optional<Plan> plan;
  if (!options.request.path.empty()) {
    plan = make_plan(options.request);
    if (!plan) return kBadInput;
  }
  const bool needs_cuda = options.device == "cuda";
  auto findings = examine_machine(cuda_device_summary(), needs_cuda);
  if (plan) {
    const RunSpec& spec = plan->specs.front();
    const auto placement = place(request.value(), spec.topology, spec.cluster());
    if (!placement.ok()) return fail(kBadInput, placement.error());
    for (Finding& finding : examine_run(spec, placement.value(), options.checkpoint)) findings.push_back(std::move(finding));
  }
  const auto printed = print(stdout, describe(findings));
  return printed.ok() && is_fit(findings) ? kDone : kRunFailed;
}

int dispatch(Options& options) {
  if (options.version) {
    return print(stdout, fmt::format("xdc-run {}\n", program_version())).ok() ? kDone : kRunFailed;
  }
  if (options.list_devices) return print(stdout, describe_devices()).ok() ? kDone : kRunFailed;
  if (options.list_profiles) return print(stdout, describe_profiles()).ok() ? kDone : kRunFailed;
  if (!options.members_of.empty()) {
    const auto members = list_members(options.members_of, options.servers);
    if (!members.ok()) return fail(kBadInput, members.error());
    return print(stdout, members.value()).ok() ? kDone : kRunFailed;
  }
  if (options.explain_environment) return explain_environment(options);
  if (options.doctor) return examine(options);
  if (options.request.path.empty()) {
    fmt::print(stderr, "xdc-run: which scenario? Try scenarios/quickstart.toml, or --help\n");
    return kBadInput;
  }
  if (options.seed) options.request.sets.push_back(fmt::format("seed={}", *options.seed));
  auto plan = make_plan(options.request);
  if (!plan) return kBadInput;
  const bool rehearsal = is_rehearsal(plan->specs.front());
  if (options.without_waiting && !rehearsal) {
    return fail(kBadInput, {ErrorCode::invalid, "--rehearse-without-waiting: this is no rehearsal; --set payload=phantom makes it one"});
  }
  // What travels is the model that is trained: its bytes are held to its own closed form. A rehearsal sends those of the profile.
  for (auto& spec : plan->specs) {
    spec.plan.counts_planned = rehearsal;
    spec.keeps_checkpoints = !options.checkpoint.empty();
    spec.resumes = options.resume;
    spec.program_version = program_version();
  }
  if (!options.rank.empty()) return run_rank(options, *plan);
  if (options.validate_only) {
    const auto printed = print(stdout, describe_plan(*plan));
    return printed.ok() ? kDone : fail(kRunFailed, printed.error());
  }
  if (!options.evaluate.empty()) {
    const auto scored = evaluate_checkpoint(plan->specs.front(), options.evaluate);
    if (!scored.ok()) return fail(kBadInput, scored.error());
    return print(stdout, scored.value()).ok() ? kDone : kRunFailed;
  }
  auto request = read_environment(options.settings, relevant_variables());
  if (!request.ok()) return fail(kBadInput, request.error());
  if (options.emulates_wan) {
    const Status placed = place_in_emulated_networks(request.value(), plan->specs.front().topology);
    if (!placed.ok()) return fail(kBadInput, placed.error());
  }
  const auto placements = place_all(request.value(), *plan);
  if (!placements.ok()) return fail(kBadInput, placements.error());
  if (request.value().allow_mismatch) {
    if (const Status known = check_allowed(request.value().allow_mismatch->value); !known.ok()) return fail(kBadInput, known.error());
  }
  const auto& here = placements.value().front().here;
  const bool first_is_here = !here.empty() && here.front() == 0;
  if (const Status fine = check_checkpoint_options(options.checkpoint, options.resume, plan->specs, first_is_here); !fine.ok()) {
    return fail(kBadInput, fine.error());
  }
  const auto device = rehearsal ? describe_rehearsal(options.device, options.without_waiting, plan->specs.front())
                                : choose_device(options.device, plan->specs.front());
  if (!device.ok()) return fail(kBadInput, device.error());
  fmt::print(stderr, "xdc-run: {}\n", device.value());
  const std::string& topology = plan->specs.front().topology.path;
  if (options.emulates_wan) {
    fmt::print(stderr, "xdc-run: messages between datacenters take emulated lines, as {} has them\n", topology);
  } else {
    fmt::print(stderr, "xdc-run: messages take the lines of this machine; the figures of links and [network] in {} are not charged\n",
               topology);
  }
  if (plan->scenario.checkpoint && options.checkpoint.empty()) {
    fmt::print(stderr, "xdc-run: the scenario has a [checkpoint], but nothing is saved without --checkpoint DIR\n");
  }
  std::set<std::string> profiles;
  for (const auto& spec : plan->specs) {
    if (spec.profile != nullptr) profiles.insert(spec.profile->name);
  }
  if (!profiles.empty() && !rehearsal) {
    fmt::print(stderr, "xdc-run: the cost profile {} is not charged: bytes and time are those of the model that is trained\n",
               fmt::join(profiles, ", "));
  }
  return train(options, request.value(), placements.value(), *plan);
}

}  // namespace
}  // namespace xdc

int main(int argc, char** argv) {
  CLI::App app("Trains across datacenters for real: one process a rank, on this machine or on many.", "xdc-run");
  xdc::Options options;
  options.program = argv[0];
  xdc::declare(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? xdc::kDone : xdc::kBadInput;
  }
  return xdc::dispatch(options);
}
