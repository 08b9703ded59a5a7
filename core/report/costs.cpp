#include "core/report/costs.hpp"

#include <algorithm>

namespace xdc {
namespace {

// The part of all egress that had been paid for by then.
double egress_until(const VariantFacts& facts, const std::vector<const MemberReport*>& workers, double time_s, int64_t step,
                    int64_t steps) {
  if (facts.closed_form_of_push.empty()) {
    return std::min(1.0, static_cast<double>(step) / static_cast<double>(steps));  // every step sends the same bytes
  }
  double paid = 0, all = 0;
  for (const auto* worker : workers) {
    const auto datacenter = static_cast<size_t>(facts.members[static_cast<size_t>(worker->member)].datacenter);
    double push = 0;
    for (const auto& [pair, bytes] : facts.closed_form_of_push[datacenter]) {
      push += static_cast<double>(bytes) * facts.egress_price_per_gb[static_cast<size_t>(pair.first)].value_or(0);
    }
    for (const auto& taken : worker->steps) {
      if (taken.samples == 0) continue;
      all += push;
      if (static_cast<double>(taken.end_ns) <= time_s * 1e9) paid += push;
    }
  }
  return all == 0 ? 0 : paid / all;
}

}  // namespace

void add_cost(const VariantFacts& facts, const std::vector<const MemberReport*>& workers, const Ledger& ledger, VariantReport& out) {
  double devices = 0;
  bool devices_priced = true;
  for (size_t d = 0; d < facts.datacenters.size(); ++d) {
    devices_priced = devices_priced && facts.device_price_per_hour[d].has_value();
    devices += facts.device_price_per_hour[d].value_or(0) * facts.devices[d] * out.elapsed_s / 3600;
  }
  double egress = 0;
  bool egress_priced = true;
  for (const auto& price : facts.egress_price_per_gb) egress_priced = egress_priced && price.has_value();
  for (const auto& [pair, traffic] : ledger) {
    egress += facts.egress_price_per_gb[static_cast<size_t>(pair.first)].value_or(0) * static_cast<double>(traffic.wire) / 1e9;
  }
  if (devices_priced) out.cost.devices = devices;
  if (egress_priced) out.cost.egress = egress;
  if (devices_priced && egress_priced) out.cost.total = devices + egress;
  if (out.cost.total && out.time_to_target_s && out.steps > 0 && out.elapsed_s > 0) {
    // An evaluation at the very end comes after the vote that ends the run, which belongs to no step.
    out.cost.to_target = devices * std::min(1.0, *out.time_to_target_s / out.elapsed_s) +
                         egress * egress_until(facts, workers, *out.time_to_target_s, *out.steps_to_target, out.steps);
  }
}

}  // namespace xdc
