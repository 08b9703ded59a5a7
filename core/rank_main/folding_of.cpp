#include "core/rank_main/folding_of.hpp"

#include "core/strategies/registry.hpp"

namespace xdc {

Folding folding_of(const RunSpec& spec) {
  if (spec.payload == PayloadKind::real) {
    return unfolded(spec.cluster());
  }
  const SampleSchedule schedule = spec.schedule();
  std::vector<std::optional<Likeness>> likeness;
  for (const auto& member : spec.cluster().members) {
    likeness.emplace_back();
    if (member.role == Role::worker) {
      likeness.back() = strategy_of(spec.plan.spec).likeness(spec.plan, member.id);
    }
    // Who has a sample more computes for longer at the end of an epoch.
    if (likeness.back()) {
      likeness.back()->sizes.push_back(schedule.share_of(member.id, 1).size);
    }
  }
  return fold(spec.cluster(), likeness);
}

}  // namespace xdc
