#include "core/membership/cluster.hpp"

#include <catch2/catch.hpp>

using namespace xdc;

namespace {

Topology topology() {
  Topology t;
  t.datacenters.resize(2);
  t.datacenters[0].name = "beijing";
  t.datacenters[0].nodes = 2;
  t.datacenters[0].devices_per_node = 2;
  t.datacenters[1].name = "shanghai";
  return t;
}

}  // namespace

TEST_CASE("workers stand by datacenter, node and device") {
  const Cluster cluster = make_cluster(topology());
  REQUIRE(cluster.workers() == 5);
  CHECK(cluster.members[3].datacenter == 0);
  CHECK(cluster.members[3].node == 1);
  CHECK(cluster.members[3].device == 1);
  CHECK(cluster.members[3].local_rank == 3);
  CHECK(cluster.members[4].datacenter == 1);
  CHECK(cluster.members[4].local_rank == 0);
  CHECK(cluster.workers_of(0) == std::vector<MemberId>{0, 1, 2, 3});
}

TEST_CASE("servers come after the workers, on the datacenter's nodes in turn") {
  Cluster cluster = make_cluster(topology());
  add_servers(cluster, topology(), 0, 3);
  CHECK(cluster.servers() == std::vector<MemberId>{5, 6, 7});
  CHECK(cluster.members[5].node == 0);
  CHECK(cluster.members[6].node == 1);
  CHECK(cluster.members[7].node == 0);
  CHECK(cluster.members[7].device == -1);
  CHECK(cluster.workers() == 5);
  CHECK(cluster.everyone(1).size() == 8);
  CHECK(cluster.workers_view(1).size() == 5);
  CHECK(cluster.describe(4) == "shanghai rank 4");
  CHECK(cluster.describe(6) == "beijing server 1");
}
