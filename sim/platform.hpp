// Which hosts and lines does SimGrid see, and how does a message get from one member to another?
//
// Every node is a host with one LAN port per direction; every member of a node that is shared by several also has a host of
// its own, with one intra-node port per direction. Messages start and end at hosts, so which pair of them a message takes says
// which ports it crosses: inside a node the members' own, else the nodes'. A datacenter is a star around its switch; between
// datacenters a route is [uplink] lines [uplink], both directions apart. Memory grows with hosts and pairs of datacenters.
//
// Where one member acts for several (core/membership/folding.hpp), its port is as fast as all of theirs together, its node as all nodes
// like it, and a path carries as many messages at a time as there are pairs of members that it stands for.
//
// No line has a latency of SimGrid's: with any, its sharing depends on round-trip times. Path::latency is charged on arrival.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "core/config/topology.hpp"
#include "core/membership/folding.hpp"
#include "core/network/tcp_path.hpp"
#include "core/seam/fabric.hpp"
#include "sim/compat.hpp"

namespace xdc {

struct Path {
  sg::Host* from = nullptr;
  sg::Host* to = nullptr;
  Duration latency;
  const TcpPath* tcp = nullptr;  // nullptr: plain, as everything inside a datacenter is
  // For how many members does each end stand? All of one end speak to all of the other where that is one member, else each to its like.
  int senders = 1, receivers = 1;

  // Like messages at the same time, each with its own connection.
  int flows() const { return std::max(senders, receivers); }
  // What one message so big takes of every line.
  int64_t wire_bytes(int64_t payload) const {
    return tcp == nullptr ? payload + static_cast<int64_t>(kControlBytes) : tcp->wire_bytes(payload);
  }
  double rate_limit() const { return tcp == nullptr ? 0 : tcp->rate_limit; }
};

class Platform {
 public:
  // Requires a topology that was validated: bandwidths above 0, a route between all datacenters that have members. All three must outlive
  // the platform.
  Platform(const Topology& topology, const Cluster& cluster, const Folding& folding);

  // Where the member's lanes run. Here and below: of members that act.
  sg::Host* host_of(MemberId member) const;
  // Requires from != to. Its `tcp` is the platform's.
  Path path(MemberId from, MemberId to) const;
  // The port that members of one datacenter reach each other through. Requires a != b.
  const LineSpec& local_line(MemberId a, MemberId b) const;

 private:
  struct DatacenterSite {
    std::vector<sg::Host*> nodes;  // nullptr: nobody acts there
    sg::NetZone* zone = nullptr;
    sg::NetPoint* gateway = nullptr;
    std::vector<sg::LinkInRoute> leave, enter;  // the uplink, if there is one
  };
  // From one datacenter to another.
  struct WanPath {
    bool reachable = false;
    Duration latency;
    std::optional<TcpPath> tcp;  // none: plain
  };

  void build_datacenter(int index, sg::NetZone* root);
  void build_member_ports();
  void build_routes(sg::NetZone* root);
  const Member& member(MemberId id) const { return cluster_.members[static_cast<size_t>(id)]; }
  const DatacenterSpec& datacenter(int index) const { return topology_.datacenters[static_cast<size_t>(index)]; }

  const Topology& topology_;
  const Cluster& cluster_;
  const Folding& folding_;
  std::vector<DatacenterSite> sites_;
  std::vector<sg::Host*> member_ports_;  // nullptr: alone on its node, or does not act
  std::vector<WanPath> wan_;             // [from * datacenters + to]
};

}  // namespace xdc
