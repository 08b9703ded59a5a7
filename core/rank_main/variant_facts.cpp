#include "core/rank_main/variant_facts.hpp"

#include "core/strategies/registry.hpp"

namespace xdc {
namespace {

std::vector<std::pair<int, int>> lines_between(const Topology& topology, int from, int to) {
  std::vector<std::pair<int, int>> lines;
  const auto route = find_route(topology, from, to);
  XDC_CHECK(route.has_value());
  for (const Hop hop : route->hops) {
    const auto& between = topology.links[static_cast<size_t>(hop.link)].between;
    const int a = topology.datacenter_index(between[0]), b = topology.datacenter_index(between[1]);
    lines.push_back(hop.forward ? std::pair{a, b} : std::pair{b, a});
  }
  return lines;
}

}  // namespace

VariantFacts facts_of(const RunSpec& spec) {
  VariantFacts facts;
  const auto& kind = strategy_of(spec.plan.spec);
  facts.name = spec.variant;
  facts.strategy = kind.describe(spec.plan);
  facts.lan_codec = describe_codec(spec.plan.codecs.lan);
  facts.wan_codec = describe_codec(spec.plan.codecs.wan);
  facts.datacenters = spec.cluster().datacenters;
  for (const auto& member : spec.cluster().members) {
    facts.members.push_back({member.datacenter, member.role == Role::worker});
  }
  facts.closed_form = kind.payload_per_round(spec.plan);
  facts.buckets = static_cast<int>(spec.plan.buckets.size());
  if (spec.plan.pushes_freely()) {
    for (size_t d = 0; d < facts.datacenters.size(); ++d) {
      facts.closed_form_of_push.push_back(kind.payload_per_push(spec.plan, static_cast<int>(d)));
    }
  }
  facts.steps_per_round = spec.plan.steps_per_round();
  const int datacenters = static_cast<int>(facts.datacenters.size());
  for (int a = 0; a < datacenters; ++a) {
    for (int b = 0; b < datacenters; ++b) {
      if (a != b) {
        facts.routes[{a, b}] = lines_between(spec.topology, a, b);
      }
    }
  }
  for (size_t d = 0; d < spec.devices.size(); ++d) {
    const auto& datacenter = spec.topology.datacenters[d];
    facts.devices.push_back(datacenter.devices());
    const auto& own = datacenter.device_price_per_hour;
    facts.device_price_per_hour.push_back(own ? own : spec.devices[d].price_per_hour);
    facts.egress_price_per_gb.push_back(datacenter.egress_price_per_gb);
  }
  if (spec.train.target) {
    facts.target = TargetReport{spec.train.target->metric, spec.train.target->value};
  }
  facts.expect = {spec.expect.accuracy_at_least, spec.expect.loss_at_most, spec.expect.updates_lost};
  return facts;
}

}  // namespace xdc
