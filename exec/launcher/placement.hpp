// Which members of a run are started here, where does each listen, and where do the launchers meet?
#pragma once

#include <string>
#include <vector>

#include "core/membership/cluster.hpp"
#include "exec/launcher/environment.hpp"

namespace xdc {

inline constexpr int kDefaultPort = 6170;  // PaddlePaddle's, which operators have opened already

struct Placement {
  bool everyone = true;        // nobody else is waited for: all members are here, on the loopback or in emulated networks
  std::vector<MemberId> here;  // ascending
  // By member: "10.1.0.1:6170"; port 0 is a free one. Empty: known to its own launcher only.
  std::vector<std::string> listen;
  std::string store;               // "10.1.0.1:6169"; port 0 is a free one
  bool keeps_store = true;         // whoever starts the first member does
  std::string launcher = {};       // the name in this launcher's certificate: "launcher.beijing"
  std::string keeper = {};         // in that of the launcher that keeps the store
  std::string tls_directory = {};  // empty: plaintext
  bool emulated = false;           // addresses are those of networks made for this run, in which every port is free
};

// Everyone is here unless the request names a share; then the topology (or --hosts, or PADDLE_* lists) says where everyone is.
// A member listens at its node's host, at the port plus its number among the members of that host.
// Errors: invalid, with every error, one a line: a datacenter, node or rank that is none, or that contradicts another; hosts that are
// missing; PADDLE_* lists that do not fit the run; plaintext for addresses that are not loopback.
Result<Placement> place(const Request& request, const Topology& topology, const Cluster& cluster);

// What --explain-env adds when it knows the run.
std::vector<Explained> explain_placement(const Placement& placement, const Cluster& cluster);

// "beijing ranks 8-11, server 0": members in few words, datacenter by datacenter.
std::string describe_members(const Cluster& cluster, const std::vector<MemberId>& members);

}  // namespace xdc
