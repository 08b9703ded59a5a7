// Who takes part in a run, and where does each stand? Members in order: the workers, by datacenter (order of the topology
// file), node and device; then the parameter servers, if the strategy has any.
#pragma once

#include <string>
#include <vector>

#include "core/config/topology.hpp"
#include "core/seam/fabric.hpp"

namespace xdc {

enum class Role { worker, server };

struct Member {
  MemberId id = 0;
  Role role = Role::worker;
  int datacenter = 0;  // index into the topology's list
  int node = 0;        // within the datacenter
  int device = 0;      // within the node; -1: the host CPU (servers)
  int local_rank = 0;  // among the workers (servers) of its datacenter
};

struct Cluster {
  std::vector<Member> members;  // members[i].id == i
  std::vector<std::string> datacenters;

  int workers() const;
  // Ascending member ids.
  std::vector<MemberId> workers_of(int datacenter) const;
  std::vector<MemberId> servers() const;
  View everyone(uint64_t epoch) const;
  View workers_view(uint64_t epoch) const;
  // "beijing rank 3", "shanghai server 0": what messages call a member.
  std::string describe(MemberId member) const;
  // "rank3.beijing", "server0.shanghai": the same in a certificate or a file's name.
  std::string label(MemberId member) const;
};

Cluster make_cluster(const Topology& topology);
// Appends `count` servers on the hosts of the datacenter's nodes, in turn.
void add_servers(Cluster& cluster, const Topology& topology, int datacenter, int count);

}  // namespace xdc
