#include "core/membership/folding.hpp"

#include <catch2/catch.hpp>

using namespace xdc;

namespace {

// Datacenters of `nodes` nodes with `devices` workers each.
Topology topology(const std::vector<std::pair<int, int>>& datacenters) {
  Topology t;
  for (const auto& [nodes, devices] : datacenters) {
    auto& datacenter = t.datacenters.emplace_back();
    datacenter.name = std::string(1, static_cast<char>('a' + t.datacenters.size() - 1));
    datacenter.nodes = nodes;
    datacenter.devices_per_node = devices;
  }
  return t;
}

std::vector<std::optional<Likeness>> all_alike(const Cluster& cluster, bool joins_equal_ranks) {
  std::vector<std::optional<Likeness>> likeness(cluster.members.size());
  for (const auto& member : cluster.members) {
    if (member.role == Role::worker) likeness[static_cast<size_t>(member.id)] = Likeness{{}, joins_equal_ranks};
  }
  return likeness;
}

}  // namespace

TEST_CASE("folding leaves the first member alone, and its node's others apart from all other nodes") {
  const Cluster cluster = make_cluster(topology({{3, 4}}));
  const Folding folding = fold(cluster, all_alike(cluster, false));
  CHECK(folding.stands_for == std::vector<int>{1, 3, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0});
  CHECK(folding.actor[3] == 1);
  CHECK(folding.actor[11] == 4);
  CHECK(folding.actors() == 3);
  CHECK(folding.nodes == std::map<std::pair<int, int>, int>{{{0, 0}, 1}, {{0, 1}, 2}});
}

TEST_CASE("a server's node is like no other, and no two servers are alike") {
  const auto t = topology({{1, 1}, {3, 2}});
  Cluster cluster = make_cluster(t);
  add_servers(cluster, t, 1, 2);
  const Folding folding = fold(cluster, all_alike(cluster, false));
  // Workers 1 to 6 on nodes of two; servers 7 and 8 on the first two of those nodes.
  CHECK(folding.stands_for == std::vector<int>{1, 2, 0, 2, 0, 2, 0, 1, 1});
  CHECK(folding.nodes.at({1, 2}) == 1);
}

TEST_CASE("where lanes join equal ranks, what tells ranks apart in one datacenter tells them apart in all") {
  const Cluster cluster = make_cluster(topology({{4, 1}, {2, 2}}));
  // Rank 0 leads; its node in the second datacenter has rank 1 on it, too.
  const Folding joined = fold(cluster, all_alike(cluster, true));
  CHECK(joined.stands_for == std::vector<int>{1, 1, 2, 0, 1, 1, 2, 0});
  const Folding apart = fold(cluster, all_alike(cluster, false));
  CHECK(apart.stands_for == std::vector<int>{1, 3, 0, 0, 4, 0, 0, 0});
  CHECK(apart.nodes.at({1, 0}) == 2);
}

TEST_CASE("different sizes are different classes") {
  const Cluster cluster = make_cluster(topology({{6, 1}}));
  auto likeness = all_alike(cluster, false);
  likeness[4]->sizes = likeness[5]->sizes = {256};
  likeness[2].reset();
  CHECK(fold(cluster, likeness).stands_for == std::vector<int>{1, 2, 1, 0, 2, 0});
}

TEST_CASE("lanes between unequal datacenters fold nobody") {
  const Cluster cluster = make_cluster(topology({{4, 1}, {3, 1}}));
  const Folding folding = fold(cluster, all_alike(cluster, true));
  CHECK(folding.actors() == 7);
  CHECK(folding.actor == unfolded(cluster).actor);
}
