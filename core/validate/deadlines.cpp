#include "core/validate/deadlines.hpp"

#include <algorithm>

#include "core/collectives/line_bytes.hpp"
#include "core/strategies/registry.hpp"

namespace xdc {

namespace {

double seconds_on(const DeviceSpec& device, Cost cost) {
  return std::max(cost.flops / device.flops_per_s, cost.bytes / device.memory_bandwidth);
}

// Of one micro-batch on one datacenter's devices.
struct Passes {
  double all = 0;
  double to_first_bucket = 0;  // forward, and backward until the first bucket is ready
};

Passes passes_of(const RunSpec& spec, size_t datacenter) {
  const auto& device = spec.devices[datacenter];
  const int batch = spec.train.batch_per_datacenter[datacenter];
  const auto layers = spec.charged();
  const Range first = spec.plan.buckets.empty() ? Range{} : spec.plan.buckets.front();
  const int ready_after = layers.lowest_within(first.begin, first.end());
  Passes out;
  for (int l = 0; l < layers.count(); ++l) {
    const double forward = seconds_on(device, layers.forward(l, batch)), backward = seconds_on(device, layers.backward(l, batch));
    out.all += forward + backward;
    out.to_first_bucket += forward + (l >= ready_after ? backward : 0);
  }
  return out;
}

}  // namespace

double compute_seconds(const RunSpec& spec) {
  double slowest = 0;
  for (size_t d = 0; d < spec.devices.size(); ++d) slowest = std::max(slowest, passes_of(spec, d).all);
  return slowest * static_cast<double>(spec.train.accumulation_steps);
}

double part_to_first_bucket(const RunSpec& spec) {
  Passes slowest;
  for (size_t d = 0; d < spec.devices.size(); ++d) {
    const auto passes = passes_of(spec, d);
    if (passes.all > slowest.all) slowest = passes;
  }
  if (slowest.all <= 0) return 1;
  // Only the last micro-batch's backward announces buckets.
  return 1 - (1 - slowest.to_first_bucket / slowest.all) / static_cast<double>(spec.train.accumulation_steps);
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
