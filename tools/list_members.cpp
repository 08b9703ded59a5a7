#include "tools/list_members.hpp"

#include <fmt/format.h>

#include "core/config/diagnostics.hpp"
#include "core/config/topology.hpp"
#include "core/membership/cluster.hpp"

namespace xdc {

Result<std::string> list_members(const std::string& topology_path, int servers) {
  Diagnostics diagnostics;
  const auto topology = read_topology(topology_path, diagnostics);
  if (!topology.ok() || !diagnostics.ok()) {
    return Error{ErrorCode::invalid, diagnostics.ok() ? topology.error().message : diagnostics.text()};
  }
  const Cluster cluster = make_cluster(topology.value());
  std::string lines;
  for (const Member& member : cluster.members) {
    lines += cluster.label(member.id) + '\n';
  }
  for (const std::string& datacenter : cluster.datacenters) {
    lines += fmt::format("launcher.{}\n", datacenter);
    // Where servers stand is a variant's choice, and their numbers go through all datacenters.
    for (int server = 0; server < servers; ++server) {
      lines += fmt::format("server{}.{}\n", server, datacenter);
    }
  }
  return lines;
}

}  // namespace xdc
