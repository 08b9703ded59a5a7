// Which strategy takes which codec, what does it remember of it, and what does it say of one that cannot be?
#include <catch2/catch.hpp>

#include "core/strategies/registry.hpp"

namespace xdc {
namespace {

using Catch::Contains;

const CodecSpec kTopK{CodecKind::top_k, Rounding::nearest, 0.01, true}, kInt8{CodecKind::int8, Rounding::nearest, 0, true};

Topology topology_of(const std::vector<int>& devices) {
  Topology topology;
  for (size_t d = 0; d < devices.size(); ++d) {
    DatacenterSpec datacenter;
    datacenter.name = "dc" + std::to_string(d);
    datacenter.devices_per_node = devices[d];
    topology.datacenters.push_back(datacenter);
    for (size_t other = 0; other < d; ++other) {
      WanLinkSpec link;
      link.between = {"dc" + std::to_string(other), datacenter.name};
      link.line = {1e9, milliseconds(10)};
      topology.links.push_back(link);
    }
  }
  return topology;
}

struct Planned {
  StrategyPlan plan;
  Status status = ok_status();
};

Planned planned(const StrategySpec& spec, const TierCodecs& codecs, const std::vector<int>& devices = {2, 2}) {
  const Topology topology = topology_of(devices);
  Planned result{{spec, make_cluster(topology), plan_buckets(10'000, 8'192), 10'000, codecs}};
  strategy_of(spec).add_members(spec, topology, result.plan.cluster);
  result.status = strategy_of(spec).resolve(result.plan, topology);
  return result;
}

std::string refused(const StrategySpec& spec, const TierCodecs& codecs) {
  const Planned result = planned(spec, codecs);
  REQUIRE_FALSE(result.status.ok());
  CHECK(result.status.error().code == ErrorCode::invalid);
  return result.status.error().message;
}

int64_t kept(const StrategySpec& spec, const TierCodecs& codecs, const std::vector<int>& devices, MemberId self) {
  const Planned result = planned(spec, codecs, devices);
  REQUIRE(result.status.ok());
  return strategy_of(spec).residuals(result.plan, self).elements();
}

TEST_CASE("Top-k is refused wherever a sum would be encoded again, with the reason") {
  for (const TierCodecs& codecs : {TierCodecs{{}, kTopK}, TierCodecs{kTopK, {}}}) {
    CHECK_THAT(refused(RingAllReduceSpec{}, codecs), Contains("top_k") && Contains("every hop of a ring"));
  }
  CHECK_THAT(refused(RingAllReduceSpec{}, {kTopK, {}}), Contains("codec.lan"));
  CHECK_THAT(refused(HierarchicalAllReduceSpec{2, Exchange::ring, false}, {{}, kTopK}), Contains("exchange = \"ring\""));
  CHECK_THAT(refused(HierarchicalAllReduceSpec{2, Exchange::mesh, false}, {{}, kTopK}), Contains("exchange = \"mesh\""));
  CHECK_THAT(refused(HierarchicalAllReduceSpec{2, Exchange::allgather, false}, {kTopK, kTopK}), Contains("codec.lan = top_k"));
}

TEST_CASE("Top-k goes by all-gather, which auto picks however slow, and with the pushes of a server") {
  const Planned automatic = planned(HierarchicalAllReduceSpec{2, Exchange::mesh, true}, {{}, kTopK});
  REQUIRE(automatic.status.ok());
  CHECK(std::get<HierarchicalAllReduceSpec>(automatic.plan.spec).exchange == Exchange::allgather);
  const CodecSpec dense{CodecKind::top_k, Rounding::nearest, 1, true};
  const Planned slow = planned(HierarchicalAllReduceSpec{2, Exchange::mesh, true}, {{}, dense}, {2, 2, 2, 2});
  REQUIRE(slow.status.ok());
  CHECK(std::get<HierarchicalAllReduceSpec>(slow.plan.spec).exchange == Exchange::allgather);
  CHECK(planned(ParameterServerSpec{0, 2}, {kTopK, kTopK}).status.ok());
}

TEST_CASE("Residuals are kept of what a rank encodes, and of nothing else") {
  const ParameterServerSpec server{0, 1};
  CHECK(kept(server, {{}, kInt8}, {2, 2}, 0) == 0);  // beside the server
  CHECK(kept(server, {{}, kInt8}, {2, 2}, 2) == 10'000);
  CHECK(kept(server, {{}, {CodecKind::int8}}, {2, 2}, 2) == 0);  // without error feedback
  // A flat ring: partial sums and the finished one, all elements once. Inside a datacenter nothing is encoded but finished sums.
  CHECK(kept(RingAllReduceSpec{}, {{}, kInt8}, {2, 2}, 1) == 10'000);
  CHECK(kept(RingAllReduceSpec{}, {{}, kInt8}, {2, 2}, 0) < 10'000 / 3);
  CHECK(kept(RingAllReduceSpec{}, {{}, kInt8}, {4}, 0) == 0);
  for (const Exchange exchange : {Exchange::ring, Exchange::mesh, Exchange::allgather}) {
    const HierarchicalAllReduceSpec lanes{2, exchange, false}, leader{1, exchange, false};
    // Ranks of a datacenter share its lanes between them.
    CHECK(kept(lanes, {{}, kInt8}, {2, 2}, 0) + kept(lanes, {{}, kInt8}, {2, 2}, 1) == 10'000);
    CHECK(kept(leader, {{}, kInt8}, {2, 2}, 0) == 10'000);
    CHECK(kept(leader, {{}, kInt8}, {2, 2}, 1) == 0);
    CHECK(kept(lanes, {kInt8, {}}, {2, 2}, 0) == 10'000);
    CHECK(kept(lanes, {kInt8, kInt8}, {1, 1}, 0) == 10'000);  // no one inside to send to
  }
}

TEST_CASE("A parameter server's pushes are counted piece by piece") {
  const StrategySpec spec = ParameterServerSpec{0, 3};
  const Planned result = planned(spec, {{}, kTopK}, {1, 2});
  REQUIRE(result.status.ok());
  // 40 blocks, 14, 13 and 13 a shard, in 5 buckets of 8: what each shard has of each, in elements, last to first.
  int64_t sent = 0;
  for (const int64_t piece : {10'000 - 32 * 256, 3 * 256, 5 * 256, 8 * 256, 2 * 256, 6 * 256, 8 * 256}) {
    sent += (piece + 99) / 100;
  }
  const auto pairs = strategy_of(spec).payload_per_round(result.plan);
  CHECK(pairs.at({1, 0}) == 2 * 8 * sent);
  CHECK(pairs.at({0, 1}) == 2 * 4 * 10'000);
}

TEST_CASE("Servers in every datacenter share the elements, and pushes cross to each other one's") {
  const StrategySpec spec = ParameterServerSpec{0, 2, true};
  const Planned result = planned(spec, {{}, {CodecKind::fp16}}, {1, 3});
  REQUIRE(result.status.ok());
  CHECK(result.plan.cluster.servers().size() == 4);
  // 40 blocks, 20 each, the last of 16 elements.
  const int64_t first = 20 * 256, second = 10'000 - first;
  const auto pairs = strategy_of(spec).payload_per_round(result.plan);
  CHECK(pairs.at({0, 1}) == 2 * second + 3 * 4 * first);
  CHECK(pairs.at({1, 0}) == 3 * 2 * first + 4 * second);
}

TEST_CASE("More servers than there are blocks are refused, and the message says how many there may be") {
  const Planned central = planned(ParameterServerSpec{0, 41}, {});
  REQUIRE_FALSE(central.status.ok());
  CHECK_THAT(central.status.error().message, Contains("shards = 41") && Contains("at most 40"));
  CHECK(planned(ParameterServerSpec{0, 20, true}, {}).status.ok());
  const Planned sharded = planned(ParameterServerSpec{0, 14, true}, {}, {1, 1, 1});
  REQUIRE_FALSE(sharded.status.ok());
  CHECK_THAT(sharded.status.error().message, Contains("in each of 3 datacenters") && Contains("at most 13"));
}

}  // namespace
}  // namespace xdc
