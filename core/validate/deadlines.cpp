#include "core/validate/deadlines.hpp"

#include <algorithm>

#include "core/collectives/line_bytes.hpp"
#include "core/model/cost.hpp"
#include "core/strategies/registry.hpp"

namespace xdc {

double compute_seconds(const RunSpec& spec) {
  double slowest = 0;
  for (size_t d = 0; d < spec.devices.size(); ++d) {
    double s = 0;
    for (const auto& layer : spec.network.layers) {
      for (const Cost cost :
           {forward_cost(layer, spec.train.batch_per_datacenter[d]), backward_cost(layer, spec.train.batch_per_datacenter[d])}) {
        s += std::max(cost.flops / spec.devices[d].flops_per_s, cost.bytes / spec.devices[d].memory_bandwidth);
      }
    }
    slowest = std::max(slowest, s);
  }
  return slowest * static_cast<double>(spec.train.accumulation_steps);
}

double line_seconds(const RunSpec& spec) {
  return busiest_line_seconds(spec.topology, strategy_of(spec.plan.spec).payload_per_round(spec.plan));
}

void set_deadlines(RunSpec& spec) {
  constexpr double kSlack = 20, kLeastSeconds = 60, kMostSeconds = 1e8;
  const auto pairs = strategy_of(spec.plan.spec).payload_per_round(spec.plan);
  const double lines = std::max(line_seconds(spec), slowest_pair_seconds(spec.topology, pairs));
  spec.round_timeout = from_seconds(
      std::clamp(kSlack * (compute_seconds(spec) * static_cast<double>(spec.plan.steps_per_round()) + lines), kLeastSeconds, kMostSeconds));
  spec.start_timeout = seconds(60);
}

}  // namespace xdc
