#include "core/rank_main/modelled_lines.hpp"

#include <algorithm>
#include <cmath>

#include "core/strategies/parameter_server_layout.hpp"
#include "core/validate/deadlines.hpp"

namespace xdc {
namespace {

using Pair = std::pair<int, int>;
using Legs = std::vector<VariantFacts::Leg>;

// A way through the exchange of one bucket that holds a whole round's bytes.
struct Way {
  Legs legs;
  bool behind_each_other = false;  // several buckets cross at once
};

// Pushes one way, new parameters back; with servers on both ends a line bears some of each.
std::vector<Way> parameter_server_ways(const StrategyPlan& plan) {
  const auto bytes = server_bytes(plan);
  const auto share = [&](const PairBytes& part, const PairBytes& other, Pair pair) {
    const auto rest = other.find(pair);
    const auto whole = static_cast<double>(part.at(pair) + (rest == other.end() ? 0 : rest->second));
    return whole == 0 ? 1 : static_cast<double>(part.at(pair)) / whole;
  };
  std::vector<Way> ways;
  for (const auto& [pair, pushed] : bytes.pushed) {
    const Pair back{pair.second, pair.first};
    ways.push_back({{{pair, 1, share(bytes.pushed, bytes.pulled, pair)}, {back, 1, share(bytes.pulled, bytes.pushed, back)}}, true});
  }
  return ways;
}

// `edges`: how many edges of a ring of `size` lead from one datacenter to another.
std::vector<Way> ring_ways(const std::map<Pair, int>& edges, int size) {
  const double hops = 2.0 * (size - 1) / size;
  Way around;
  std::vector<Way> ways;
  for (const auto& [pair, count] : edges) {
    around.legs.push_back({pair, hops * count, 1.0 / size});
    ways.push_back({{{pair, 1, 1}}, false});
  }
  ways.push_back(std::move(around));
  return ways;
}

std::vector<Way> flat_ring_ways(const StrategyPlan& plan, RingOrder order) {
  auto ring = plan.cluster.workers_view(0).members;
  const auto member = [&](MemberId id) -> const Member& { return plan.cluster.members[static_cast<size_t>(id)]; };
  if (order == RingOrder::interleaved) {
    std::stable_sort(ring.begin(), ring.end(), [&](MemberId a, MemberId b) { return member(a).local_rank < member(b).local_rank; });
  }
  std::map<Pair, int> edges;
  for (size_t i = 0; i < ring.size(); ++i) {
    const int from = member(ring[i]).datacenter, to = member(ring[(i + 1) % ring.size()]).datacenter;
    if (from != to) ++edges[{from, to}];
  }
  return ring_ways(edges, static_cast<int>(ring.size()));
}

std::vector<Way> hierarchical_ways(const StrategyPlan& plan, Exchange exchange) {
  const int datacenters = static_cast<int>(plan.cluster.datacenters.size());
  std::vector<Way> ways;
  if (exchange == Exchange::ring) {
    std::map<Pair, int> edges;
    for (int d = 0; d < datacenters; ++d) edges[{d, (d + 1) % datacenters}] = 1;
    return ring_ways(edges, datacenters);
  }
  for (int a = 0; a < datacenters; ++a) {
    for (int b = 0; b < datacenters; ++b) {
      if (a == b) continue;
      if (exchange == Exchange::allgather) {
        ways.push_back({{{{a, b}, 1, 1}}, false});
      } else {
        ways.push_back({{{{a, b}, 1, 0.5}, {{b, a}, 1, 0.5}}, false});
      }
    }
  }
  return ways;
}

// None for a strategy without a formula here.
struct WaysOf {
  const StrategyPlan& plan;
  std::vector<Way> operator()(const ParameterServerSpec&) const { return parameter_server_ways(plan); }
  std::vector<Way> operator()(const RingAllReduceSpec& spec) const { return flat_ring_ways(plan, spec.order); }
  std::vector<Way> operator()(const HierarchicalAllReduceSpec& spec) const { return hierarchical_ways(plan, spec.exchange); }
  std::vector<Way> operator()(const LocalSgdSpec& spec) const { return hierarchical_ways(plan, spec.averaging.exchange); }
  template <class Other>
  std::vector<Way> operator()(const Other&) const {
    return {};
  }
};

VariantFacts::Chain chain_of(const Legs& legs, double compute, double crossings, double share) {
  VariantFacts::Chain out{compute, legs};
  for (auto& leg : out.legs) {
    leg.crossings *= crossings;
    leg.share *= share;
  }
  return out;
}

void add_chains(const RunSpec& spec, VariantFacts& facts) {
  const auto& plan = spec.plan;
  const auto buckets = static_cast<double>(plan.buckets.size());
  const auto steps = static_cast<double>(plan.steps_per_round());
  const double last = static_cast<double>(plan.buckets.back().count) / static_cast<double>(plan.parameters);
  const double until_first = part_to_first_bucket(spec);
  const auto ways = std::visit(WaysOf{plan}, plan.spec);
  for (const auto& way : ways) {
    const bool overlaps = plan.buckets.size() > 1 && !plan.trains_locally();
    const double rounds_trips = way.behind_each_other ? 1 : buckets;
    if (!overlaps) {
      facts.chains.push_back(chain_of(way.legs, 1, rounds_trips / steps, 1));
      continue;
    }
    facts.chains.push_back(chain_of(way.legs, 1, 1 / steps, last));
    auto exchanging = chain_of(way.legs, until_first, rounds_trips / steps, 1);
    // What comes back of the buckets before the last does so while the last is on its way.
    if (way.behind_each_other && exchanging.legs.size() > 1) {
      exchanging.legs.front().share += (1 - exchanging.legs.front().share) * (1 - last);
      exchanging.legs.back().share *= last;
    }
    facts.chains.push_back(std::move(exchanging));
  }
}

std::vector<std::vector<std::pair<int, bool>>> all_routes(const Topology& topology) {
  std::vector<std::vector<std::pair<int, bool>>> out;
  const int count = static_cast<int>(topology.datacenters.size());
  for (int a = 0; a < count; ++a) {
    for (int b = 0; b < count; ++b) {
      if (a == b) continue;
      const auto route = find_route(topology, a, b);
      XDC_CHECK(route.has_value());
      auto& lines = out.emplace_back();
      for (const auto& hop : route->hops) lines.emplace_back(hop.link, hop.forward);
    }
  }
  return out;
}

// The latency furthest from now, towards `limit`, with which every route stays as it is: the more latency, the fewer routes.
int64_t furthest_latency(const Topology& topology, size_t link, int64_t limit) {
  const auto now = all_routes(topology);
  auto changed = topology;
  const auto same_with = [&](int64_t ns) {
    changed.links[link].line.latency = nanoseconds(ns);
    return all_routes(changed) == now;
  };
  if (same_with(limit)) return limit;
  int64_t same = topology.links[link].line.latency.ns;
  int64_t other = limit;
  while (std::abs(other - same) > 1) {
    const int64_t middle = same + (other - same) / 2;
    (same_with(middle) ? same : other) = middle;
  }
  return same;
}

}  // namespace

void add_lines(const RunSpec& spec, VariantFacts& facts) {
  constexpr int64_t kLongestLatency = 3'600'000'000'000;
  const auto& topology = spec.topology;
  for (size_t l = 0; l < topology.links.size(); ++l) {
    const auto& link = topology.links[l];
    const LinkReport::Line line{link.line.bandwidth, to_seconds(link.line.latency),
                                to_seconds(nanoseconds(furthest_latency(topology, l, 0))),
                                to_seconds(nanoseconds(furthest_latency(topology, l, kLongestLatency)))};
    const int a = topology.datacenter_index(link.between[0]), b = topology.datacenter_index(link.between[1]);
    facts.lines[{a, b}] = facts.lines[{b, a}] = line;
  }
  if (topology.datacenters.size() > 1) add_chains(spec, facts);
}

}  // namespace xdc
