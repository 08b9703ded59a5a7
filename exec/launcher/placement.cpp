#include "exec/launcher/placement.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/edit_distance.hpp"

namespace xdc {

namespace {

constexpr const char* kAnyLoopback = "127.0.0.1";
constexpr int kMostPort = 65'535;

class Placer {
 public:
  Placer(const Request& request, const Topology& topology, const Cluster& cluster)
      : request_(request), topology_(topology), cluster_(cluster), hosts_(topology.datacenters.size()) {}

  Result<Placement> place() {
    out_.emulated = request_.emulated;
    out_.everyone = !request_.names_a_share() && !request_.paddle.self;
    read_hosts();
    choose_here();
    if (out_.everyone && !request_.emulated) {
      listen_on_loopback();
    } else {
      check_paddle();
      listen_at_hosts();
      choose_store();
    }
    choose_security();
    if (!errors_.empty()) {
      return Error{ErrorCode::invalid, fmt::format("{}", fmt::join(errors_, "\n"))};
    }
    return out_;
  }

 private:
  void error(std::string message) { errors_.push_back(std::move(message)); }
  const std::string& datacenter_of(const Member& member) const { return cluster_.datacenters[static_cast<size_t>(member.datacenter)]; }
  const Member& member(MemberId id) const { return cluster_.members[static_cast<size_t>(id)]; }

  int datacenter_named(const std::string& name, const std::string& from) {
    const int index = topology_.datacenter_index(name);
    if (index < 0) {
      const auto near = nearest_of(name, cluster_.datacenters);
      error(fmt::format("{}: there is no datacenter \"{}\"{}; there are: {}", from, name,
                        near.empty() ? "" : fmt::format(", did you mean \"{}\"?", near), fmt::join(cluster_.datacenters, ", ")));
    }
    return index;
  }

  void read_hosts() {
    for (size_t d = 0; d < hosts_.size(); ++d) hosts_[d] = topology_.datacenters[d].hosts;
    if (!request_.hosts) return;
    for (const auto& [name, addresses] : request_.hosts->value) {
      const int d = datacenter_named(name, request_.hosts->from);
      if (d < 0) continue;
      const auto nodes = static_cast<size_t>(topology_.datacenters[static_cast<size_t>(d)].nodes);
      if (addresses.size() != nodes) {
        error(fmt::format("{} has {} for {}, which has {} node{}; one address a node is wanted", request_.hosts->from, addresses.size(),
                          name, nodes, nodes == 1 ? "" : "s"));
        continue;
      }
      hosts_[static_cast<size_t>(d)] = addresses;
    }
  }

  // Null where nobody said.
  const std::string* host_of(const Member& m) const {
    const auto& hosts = hosts_[static_cast<size_t>(m.datacenter)];
    return hosts.empty() ? nullptr : &hosts[static_cast<size_t>(m.node)];
  }

  std::optional<MemberId> member_named(const Given<RankName>& rank) {
    const auto servers = cluster_.servers();
    const int count = rank.value.server ? static_cast<int>(servers.size()) : cluster_.workers();
    if (rank.value.number >= count) {
      error(count == 0 ? fmt::format("{} says {}, and this variant has no parameter servers", rank.from, to_string(rank.value))
                       : fmt::format("{} says {}, and this run has {}, from 0", rank.from, to_string(rank.value), count));
      return std::nullopt;
    }
    return rank.value.server ? servers[static_cast<size_t>(rank.value.number)] : static_cast<MemberId>(rank.value.number);
  }

  void choose_here() {
    const int datacenter = request_.datacenter ? datacenter_named(request_.datacenter->value, request_.datacenter->from) : -1;
    if (request_.datacenter && datacenter < 0) return;
    if (request_.node && datacenter >= 0) {
      const int nodes = topology_.datacenters[static_cast<size_t>(datacenter)].nodes;
      if (request_.node->value >= nodes) {
        error(fmt::format("{} is {}, and {} has {} node{}, from 0", request_.node->from, request_.node->value, request_.datacenter->value,
                          nodes, nodes == 1 ? "" : "s"));
        return;
      }
    }
    const auto in_share = [&](const Member& m) {
      return (!request_.datacenter || m.datacenter == datacenter) && (!request_.node || m.node == request_.node->value);
    };
    if (request_.rank) {
      const auto self = member_named(*request_.rank);
      if (!self) return;
      const Member& m = member(*self);
      if (!in_share(m)) {
        error(fmt::format(
            "{} says {}, who is in {} on node {}, and {} says {}: remove one of them", request_.rank->from, to_string(request_.rank->value),
            datacenter_of(m), m.node, request_.node ? request_.node->from : request_.datacenter->from,
            request_.node ? fmt::format("node {} of {}", request_.node->value, request_.datacenter->value) : request_.datacenter->value));
      }
      out_.here = {*self};
      return;
    }
    for (const Member& m : cluster_.members) {
      if (in_share(m)) out_.here.push_back(m.id);
    }
  }

  void listen_on_loopback() {
    out_.keeps_store = true;
    const bool ports = request_.port.has_value();
    for (size_t i = 0; i < cluster_.members.size(); ++i) {
      out_.listen.push_back(fmt::format("{}:{}", kAnyLoopback, ports ? request_.port->value + static_cast<int>(i) : 0));
    }
    out_.store =
        request_.store ? to_string(request_.store->value) : fmt::format("{}:{}", kAnyLoopback, ports ? request_.port->value - 1 : 0);
    if (ports) check_port(request_.port->value + static_cast<int>(cluster_.members.size()) - 1);
    if (request_.paddle.trainer_endpoints || request_.paddle.server_endpoints) {
      error(fmt::format("{} is set, and nothing says which of them this process is",
                        (request_.paddle.trainer_endpoints ? request_.paddle.trainer_endpoints : request_.paddle.server_endpoints)->from));
    }
  }

  void check_port(int last) {
    if (last > kMostPort) error(fmt::format("there is no port {} for the last member of a host: choose a lower --port", last));
  }

  void check_count(const std::string& from, size_t said, size_t there, std::string_view what) {
    if (said != there) error(fmt::format("{} says that there are {} {}, and the run has {}", from, said, what, there));
  }

  void check_paddle() {
    const PaddleRequest& paddle = request_.paddle;
    const auto workers = static_cast<size_t>(cluster_.workers()), servers = cluster_.servers().size();
    if (paddle.trainer_endpoints) check_count(paddle.trainer_endpoints->from, paddle.trainer_endpoints->value.size(), workers, "trainers");
    if (paddle.trainers && !paddle.trainer_endpoints) {
      check_count(paddle.trainers->from, static_cast<size_t>(paddle.trainers->value), workers, "trainers");
    }
    if (paddle.server_endpoints) check_count(paddle.server_endpoints->from, paddle.server_endpoints->value.size(), servers, "servers");
    if (paddle.machines) {
      size_t nodes = 0;
      for (const auto& datacenter : topology_.datacenters) nodes += static_cast<size_t>(datacenter.nodes);
      check_count(paddle.machines->from, static_cast<size_t>(paddle.machines->value), nodes, "machines");
    }
  }

  // What PADDLE_* lists say; empty: nothing.
  std::string listed(const Member& m) {
    const PaddleRequest& paddle = request_.paddle;
    const bool server = m.role == Role::server;
    const auto& list = server ? paddle.server_endpoints : paddle.trainer_endpoints;
    const auto index = static_cast<size_t>(server ? m.id - cluster_.workers() : m.id);
    if (list && index < list->value.size()) {
      const Endpoint& endpoint = list->value[index];
      if (const auto* host = host_of(m); host != nullptr && *host != endpoint.host) {
        error(fmt::format("{} has {} for {}, and {} says that it is at {}: remove one of them", list->from, to_string(endpoint),
                          cluster_.describe(m.id), request_.hosts ? request_.hosts->from : topology_.path, *host));
      }
      return to_string(endpoint);
    }
    const bool self = out_.here.size() == 1 && out_.here.front() == m.id;
    return self && paddle.own_host ? fmt::format("{}:0", paddle.own_host->value) : std::string();
  }

  void listen_at_hosts() {
    std::map<std::string, int> used;
    const bool by_list = request_.paddle.trainer_endpoints || request_.paddle.server_endpoints;
    std::vector<bool> named(hosts_.size(), false);
    for (const Member& m : cluster_.members) {
      std::string at = listed(m);
      const auto* host = host_of(m);
      if (at.empty() && host != nullptr) {
        const int port = (request_.port ? request_.port->value : kDefaultPort) + used[*host]++;
        check_port(port);
        at = fmt::format("{}:{}", *host, port);
      }
      const bool here = std::find(out_.here.begin(), out_.here.end(), m.id) != out_.here.end();
      if (at.empty() && (here || !by_list) && !named[static_cast<size_t>(m.datacenter)]) {
        named[static_cast<size_t>(m.datacenter)] = true;
        error(fmt::format(
            "where is {}? Add hosts = [\"10.1.0.1\", ...] to datacenter {} in {}, one address a node, or give --hosts (XDC_HOSTS)",
            cluster_.describe(m.id), datacenter_of(m), topology_.path));
      }
      out_.listen.push_back(std::move(at));
    }
  }

  void choose_store() {
    out_.keeps_store = std::find(out_.here.begin(), out_.here.end(), 0) != out_.here.end();
    if (request_.store) {
      out_.store = to_string(request_.store->value);
    } else if (const auto first = parse_endpoint(out_.listen.front()); !first.ok()) {
      if (errors_.empty()) error("where do the launchers meet? Give --store ADDR:PORT (XDC_STORE, PADDLE_MASTER)");
    } else {
      out_.store = fmt::format("{}:{}", first.value().host, first.value().port - 1);
      if (first.value().port < 2) error(fmt::format("there is no port below {} for the store: give --store", out_.listen.front()));
    }
    const auto taken = std::find(out_.listen.begin(), out_.listen.end(), out_.store);
    if (!out_.store.empty() && taken != out_.listen.end()) {
      error(fmt::format("the store is to stand at {}{}, where {} listens: two cannot share a port", out_.store,
                        request_.store ? fmt::format(" ({})", request_.store->from) : "",
                        cluster_.describe(static_cast<MemberId>(taken - out_.listen.begin()))));
    }
  }

  void choose_security() {
    const bool insecure = request_.insecure && request_.insecure->value;
    out_.tls_directory = request_.tls ? request_.tls->value : topology_.tls_directory;
    if (insecure && !request_.tls && !topology_.tls_directory.empty()) {
      error(fmt::format("{} asks for certificates ([security] tls), and {} allows to do without: remove one of them", topology_.path,
                        request_.insecure->from));
    }
    if (!out_.here.empty()) out_.launcher = "launcher." + datacenter_of(member(out_.here.front()));
    out_.keeper = "launcher." + datacenter_of(member(0));
    if (!out_.tls_directory.empty() || insecure || request_.emulated) return;  // emulated networks end on this machine
    std::vector<std::string> outside;
    for (const std::string& at : out_.listen) {
      if (!at.empty() && !is_loopback(at.substr(0, at.find(':')))) outside.push_back(at);
    }
    if (!out_.store.empty() && !is_loopback(out_.store.substr(0, out_.store.find(':')))) outside.push_back(out_.store);
    if (!outside.empty()) {
      error(
          fmt::format("{} is not a loopback address, and nothing would be encrypted: --tls DIR with certificates (tools/make_certs makes "
                      "them), or --insecure where the lines are your own",
                      outside.front()));
    }
  }

  const Request& request_;
  const Topology& topology_;
  const Cluster& cluster_;
  std::vector<std::vector<std::string>> hosts_;  // by datacenter
  Placement out_;
  std::vector<std::string> errors_;
};

}  // namespace

Result<Placement> place(const Request& request, const Topology& topology, const Cluster& cluster) {
  return Placer(request, topology, cluster).place();
}

std::vector<Explained> explain_placement(const Placement& placement, const Cluster& cluster) {
  std::vector<Explained> lines;
  lines.push_back({"started here", placement.everyone ? "all members" : describe_members(cluster, placement.here), ""});
  lines.push_back(
      {"store", placement.store, placement.keeps_store ? "kept by this launcher" : "kept by the launcher of " + cluster.describe(0)});
  lines.push_back({"connections", placement.tls_directory.empty() ? "plaintext" : "mutual TLS, " + placement.tls_directory, ""});
  for (const Member& member : cluster.members) {
    const bool here = std::find(placement.here.begin(), placement.here.end(), member.id) != placement.here.end();
    const std::string& at = placement.listen[static_cast<size_t>(member.id)];
    lines.push_back(
        {cluster.describe(member.id), at.empty() ? "known to its own launcher" : at, here ? "started here" : "started elsewhere"});
  }
  for (Explained& line : lines) {
    if (line.value.ends_with(":0")) line.value = line.value.substr(0, line.value.size() - 2) + ", a free port";
  }
  return lines;
}

std::string describe_members(const Cluster& cluster, const std::vector<MemberId>& members) {
  std::string text;
  for (size_t d = 0; d < cluster.datacenters.size(); ++d) {
    std::vector<std::string> parts;
    for (const Role role : {Role::worker, Role::server}) {
      const int base = role == Role::server ? cluster.workers() : 0;
      std::vector<int> numbers;
      for (const MemberId id : members) {
        const Member& m = cluster.members[static_cast<size_t>(id)];
        if (m.datacenter == static_cast<int>(d) && m.role == role) numbers.push_back(id - base);
      }
      const char* one = role == Role::server ? "server" : "rank";
      for (size_t begin = 0, end = 0; begin < numbers.size(); begin = end) {
        end = begin + 1;
        while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
        parts.push_back(end - begin == 1 ? fmt::format("{} {}", one, numbers[begin])
                                         : fmt::format("{}s {}-{}", one, numbers[begin], numbers[end - 1]));
      }
    }
    if (!parts.empty()) text += fmt::format("{}{} {}", text.empty() ? "" : "; ", cluster.datacenters[d], fmt::join(parts, ", "));
  }
  return text;
}

}  // namespace xdc
