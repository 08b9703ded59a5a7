#include "core/membership/cluster.hpp"

#include <fmt/format.h>

namespace xdc {

int Cluster::workers() const {
  int n = 0;
  for (const auto& member : members) {
    n += member.role == Role::worker ? 1 : 0;
  }
  return n;
}

std::vector<MemberId> Cluster::workers_of(int datacenter) const {
  std::vector<MemberId> found;
  for (const auto& member : members) {
    if (member.role == Role::worker && member.datacenter == datacenter) {
      found.push_back(member.id);
    }
  }
  return found;
}

std::vector<MemberId> Cluster::servers() const {
  std::vector<MemberId> found;
  for (const auto& member : members) {
    if (member.role == Role::server) {
      found.push_back(member.id);
    }
  }
  return found;
}

View Cluster::everyone(uint64_t epoch) const {
  View view{epoch, {}};
  for (const auto& member : members) {
    view.members.push_back(member.id);
  }
  return view;
}

View Cluster::workers_view(uint64_t epoch) const {
  View view{epoch, {}};
  for (const auto& member : members) {
    if (member.role == Role::worker) {
      view.members.push_back(member.id);
    }
  }
  return view;
}

std::string Cluster::describe(MemberId member) const {
  const auto& m = members[static_cast<size_t>(member)];
  const auto& datacenter = datacenters[static_cast<size_t>(m.datacenter)];
  if (m.role == Role::server) {
    return fmt::format("{} server {}", datacenter, member - workers());
  }
  return fmt::format("{} rank {}", datacenter, member);
}

std::string Cluster::label(MemberId member) const {
  const auto& m = members[static_cast<size_t>(member)];
  const bool server = m.role == Role::server;
  return fmt::format("{}{}.{}", server ? "server" : "rank", server ? member - workers() : member,
                     datacenters[static_cast<size_t>(m.datacenter)]);
}

Cluster make_cluster(const Topology& topology) {
  Cluster cluster;
  for (size_t d = 0; d < topology.datacenters.size(); ++d) {
    const auto& datacenter = topology.datacenters[d];
    cluster.datacenters.push_back(datacenter.name);
    for (int i = 0; i < datacenter.devices(); ++i) {
      cluster.members.push_back({static_cast<MemberId>(cluster.members.size()), Role::worker, static_cast<int>(d),
                                 i / datacenter.devices_per_node, i % datacenter.devices_per_node, i});
    }
  }
  return cluster;
}

void add_servers(Cluster& cluster, const Topology& topology, int datacenter, int count) {
  int local = 0;
  for (const MemberId server : cluster.servers()) {
    local += cluster.members[static_cast<size_t>(server)].datacenter == datacenter ? 1 : 0;
  }
  const int nodes = topology.datacenters[static_cast<size_t>(datacenter)].nodes;
  for (int i = 0; i < count; ++i, ++local) {
    cluster.members.push_back({static_cast<MemberId>(cluster.members.size()), Role::server, datacenter, local % nodes, -1, local});
  }
}

}  // namespace xdc
