// Which exchange does `auto` choose, and does it know of more than bandwidth and latency?
#include <catch2/catch.hpp>

#include "core/strategies/registry.hpp"

namespace xdc {
namespace {

// Three datacenters of two devices, joined by lines of 10 Gbps and 10 ms.
Topology triangle() {
  Topology topology;
  for (const auto* name : {"a", "b", "c"}) {
    DatacenterSpec datacenter;
    datacenter.name = name;
    datacenter.devices_per_node = 2;
    datacenter.lan = datacenter.intra_node = {25e9, {5'000}};
    for (const auto& other : topology.datacenters) {
      WanLinkSpec link;
      link.between = {other.name, name};
      link.line = {1.25e9, milliseconds(10)};
      link.window_bytes = int64_t{1} << 40;
      topology.links.push_back(link);
    }
    topology.datacenters.push_back(datacenter);
  }
  return topology;
}

Exchange chosen(const Topology& topology, int64_t elements) {
  HierarchicalAllReduceSpec spec;
  spec.lanes = 2;
  spec.exchange_was_auto = true;
  StrategyPlan plan{spec, make_cluster(topology), plan_buckets(elements, elements * 4), elements, {}};
  REQUIRE(strategy_of(plan.spec).resolve(plan, topology).ok());
  return std::get<HierarchicalAllReduceSpec>(plan.spec).exchange;
}

}  // namespace

TEST_CASE("auto pays latency once where bytes are few, and sends fewer bytes where they are many") {
  CHECK(chosen(triangle(), 1'000'000) == Exchange::allgather);  // 4 MB and 10 ms against 2.7 MB and 20 ms
  CHECK(chosen(triangle(), 100'000'000) == Exchange::mesh);
}

TEST_CASE("auto knows that a window makes a connection slower than its line") {
  auto topology = triangle();
  // 200 kB for each 20 ms and lane: 20 MB/s, so that 1.3 MB saved are worth more than 10 ms.
  for (auto& link : topology.links) link.window_bytes = 200'000;
  CHECK(chosen(topology, 1'000'000) == Exchange::mesh);
  topology.network = NetworkModel::plain;
  CHECK(chosen(topology, 1'000'000) == Exchange::allgather);
}

}  // namespace xdc
