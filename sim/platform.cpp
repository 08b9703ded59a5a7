#include "sim/platform.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace xdc {
namespace {

// Speed means nothing here: no work is ever executed by SimGrid, compute time is charged by SimDevice.
constexpr double kHostSpeed = 1e9;

sg::Link* line(sg::NetZone* zone, const std::string& name, double bytes_per_second) {
  XDC_CHECK_MSG(bytes_per_second > 0, "line " + name + " has no bandwidth");
  return zone->create_link(name, bytes_per_second)->seal();
}

// `ports` of them as one.
sg::Host* host_with_port(sg::NetZone* zone, const std::string& name, const LineSpec& port, int ports) {
  auto* host = zone->create_host(name, kHostSpeed)->seal();
  const auto up = sg::LinkInRoute(line(zone, name + "/out", port.bandwidth * ports));
  const auto down = sg::LinkInRoute(line(zone, name + "/in", port.bandwidth * ports));
  zone->add_route(host->get_netpoint(), nullptr, nullptr, nullptr, {up}, false);
  zone->add_route(nullptr, host->get_netpoint(), nullptr, nullptr, {down}, false);
  return host;
}

}  // namespace

Platform::Platform(const Topology& topology, const Cluster& cluster, const Folding& folding)
    : topology_(topology), cluster_(cluster), folding_(folding) {
  auto* root = sg::full_zone("world");
  const auto count = topology_.datacenters.size();
  sites_.resize(count);
  for (size_t i = 0; i < count; ++i) {
    build_datacenter(static_cast<int>(i), root);
  }
  build_member_ports();
  for (auto& site : sites_) {
    site.zone->seal();
  }
  wan_.resize(count * count);
  build_routes(root);
  root->seal();
}

void Platform::build_datacenter(int index, sg::NetZone* root) {
  const auto& spec = datacenter(index);
  auto& site = sites_[static_cast<size_t>(index)];
  site.zone = sg::star_zone(spec.name, root);
  for (int node = 0; node < spec.nodes; ++node) {
    const auto stands_for = folding_.nodes.find({index, node});
    site.nodes.push_back(stands_for == folding_.nodes.end()
                             ? nullptr
                             : host_with_port(site.zone, fmt::format("{}/node{}", spec.name, node), spec.lan, stands_for->second));
  }
  site.gateway = site.zone->create_router(spec.name + "/gateway");
  site.zone->add_route(site.gateway, nullptr, nullptr, nullptr, {}, false);
  site.zone->add_route(nullptr, site.gateway, nullptr, nullptr, {}, false);
  if (spec.uplink) {
    site.leave.emplace_back(line(root, spec.name + "/uplink/out", spec.uplink->bandwidth));
    site.enter.emplace_back(line(root, spec.name + "/uplink/in", spec.uplink->bandwidth));
  }
}

void Platform::build_member_ports() {
  std::map<std::pair<int, int>, int> on_node;
  for (const auto& m : cluster_.members) {
    ++on_node[{m.datacenter, m.node}];
  }
  for (const auto& m : cluster_.members) {
    const bool has_none = !folding_.acts(m.id) || on_node[{m.datacenter, m.node}] == 1;
    const auto name = fmt::format("{}/node{}/member{}", datacenter(m.datacenter).name, m.node, m.id);
    member_ports_.push_back(has_none ? nullptr
                                     : host_with_port(sites_[static_cast<size_t>(m.datacenter)].zone, name,
                                                      datacenter(m.datacenter).intra_node, folding_.stands_for[static_cast<size_t>(m.id)]));
  }
}

void Platform::build_routes(sg::NetZone* root) {
  std::vector<std::array<sg::Link*, 2>> lines;
  for (const auto& link : topology_.links) {
    const auto name = fmt::format("{}-{}#{}", link.between[0], link.between[1], lines.size());
    lines.push_back({line(root, name + "/forward", link.line.bandwidth), line(root, name + "/back", link.line.bandwidth)});
  }
  const int count = static_cast<int>(sites_.size());
  for (int from = 0; from < count; ++from) {
    for (int to = 0; to < count; ++to) {
      const auto route = from == to ? std::nullopt : find_route(topology_, from, to);
      if (!route) {
        continue;
      }
      const auto& source = sites_[static_cast<size_t>(from)];
      const auto& target = sites_[static_cast<size_t>(to)];
      auto links = source.leave;
      for (const auto& hop : route->hops) {
        links.emplace_back(lines[static_cast<size_t>(hop.link)][hop.forward ? 0 : 1]);
      }
      links.insert(links.end(), target.enter.begin(), target.enter.end());
      root->add_route(source.zone->get_netpoint(), target.zone->get_netpoint(), source.gateway, target.gateway, links, false);
      auto& path = wan_[static_cast<size_t>(from * count + to)];
      path = {true, path_latency(topology_, from, to, *route), std::nullopt};
      if (topology_.network == NetworkModel::tcp) {
        path.tcp = tcp_path(topology_, from, to, *route);
      }
    }
  }
}

sg::Host* Platform::host_of(MemberId id) const {
  return sites_[static_cast<size_t>(member(id).datacenter)].nodes[static_cast<size_t>(member(id).node)];
}

Path Platform::path(MemberId from, MemberId to) const {
  const auto& a = member(from);
  const auto& b = member(to);
  XDC_CHECK(from != to);
  const int senders = folding_.stands_for[static_cast<size_t>(from)], receivers = folding_.stands_for[static_cast<size_t>(to)];
  XDC_CHECK_MSG(senders > 0 && receivers > 0 && (senders == receivers || senders == 1 || receivers == 1),
                fmt::format("{} stands for {} members and {} for {}: what they send is not one kind of message", cluster_.describe(from),
                            senders, cluster_.describe(to), receivers));
  if (a.datacenter != b.datacenter) {
    const auto& wan = wan_[static_cast<size_t>(a.datacenter) * sites_.size() + static_cast<size_t>(b.datacenter)];
    XDC_CHECK_MSG(wan.reachable, "no line leads from " + cluster_.describe(from) + " to " + cluster_.describe(to));
    return {host_of(from), host_of(to), wan.latency, wan.tcp ? &*wan.tcp : nullptr, senders, receivers};
  }
  const auto latency = local_line(from, to).latency;
  if (a.node == b.node) {
    return {member_ports_[static_cast<size_t>(from)], member_ports_[static_cast<size_t>(to)], latency, nullptr, senders, receivers};
  }
  return {host_of(from), host_of(to), latency, nullptr, senders, receivers};
}

const LineSpec& Platform::local_line(MemberId a, MemberId b) const {
  XDC_CHECK(a != b && member(a).datacenter == member(b).datacenter);
  const auto& spec = datacenter(member(a).datacenter);
  return member(a).node == member(b).node ? spec.intra_node : spec.lan;
}

}  // namespace xdc
