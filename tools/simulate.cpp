#include "tools/simulate.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/math/cpu_kernels.hpp"
#include "core/math/null_kernels.hpp"
#include "core/math/numerics.hpp"
#include "core/rank_main/folding_of.hpp"
#include "core/rank_main/rank_main.hpp"
#include "core/rank_main/run_state.hpp"
#include "sim/run.hpp"

namespace xdc {
namespace {

WorldSpec world_of(const RunSpec& spec, const Watch& watch, const Folding& folding) {
  WorldSpec world{
      spec.topology, spec.cluster(), {}, spec.payload, fmt::format("seed {}, {}, {}", spec.seed, spec.scenario_path, spec.variant),
      watch,         folding};
  for (const auto& member : world.cluster.members) {
    const auto& devices = member.role == Role::worker ? spec.devices : spec.server_devices;
    world.devices.push_back(devices[static_cast<size_t>(member.datacenter)]);
  }
  return world;
}

Observer observer_of(const RunSpec& spec, const Onlookers& onlookers) {
  return [steps = planned_steps(spec.train.stop, spec.schedule()), limit = spec.train.stop.time, &onlookers](const TraceEvent& event) {
    if (onlookers.event) onlookers.event(event);
    if (event.event != "step" || event.member != 0 || !onlookers.progress) return;
    if (steps > 0) {
      onlookers.progress(static_cast<double>(event.step) / static_cast<double>(steps));
    } else if (limit) {
      onlookers.progress(static_cast<double>(event.time.ns) / static_cast<double>(limit->ns));
    }
  };
}

}  // namespace

Result<std::vector<MemberReport>> simulate(const RunSpec& spec, const Onlookers& onlookers, bool expand) {
  const bool real = spec.payload == PayloadKind::real;
  if (real) XDC_TRY(pin_numerics(spec.numerics == Numerics::native ? CpuNumerics::native : CpuNumerics::portable));
  std::unique_ptr<Kernels> arithmetic;
  if (real) {
    arithmetic = std::make_unique<CpuKernels>();
  } else {
    arithmetic = std::make_unique<NullKernels>();
  }
  const Folding folding = expand ? unfolded(spec.cluster()) : folding_of(spec);
  std::vector<Status> outcomes(spec.cluster().members.size());
  const auto end = run_world(world_of(spec, onlookers.watch, folding), *arithmetic, observer_of(spec, onlookers),
                             [&](Env& env, MemberId self) { outcomes[static_cast<size_t>(self)] = rank_main(env, spec, self); });
  if (!end.ok()) return end.error();
  std::vector<MemberReport> reports;
  for (const auto& member : spec.cluster().members) {
    if (!folding.acts(member.id)) continue;
    const auto text = end.value().stored(report_key(member.id));
    const auto& outcome = outcomes[static_cast<size_t>(member.id)];
    if (!text) {
      return Error{ErrorCode::failed, fmt::format("{} left no report{}", spec.cluster().describe(member.id),
                                                  outcome.ok() ? "" : ": " + outcome.error().message)};
    }
    XDC_TRY_ASSIGN(auto report, member_report_from_json(*text));
    report.stands_for = folding.stands_for[static_cast<size_t>(member.id)];
    reports.push_back(std::move(report));
  }
  return reports;
}

}  // namespace xdc
