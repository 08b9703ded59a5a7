#include "core/config/topology.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "core/config/table_reader.hpp"
#include "core/config/toml_reader.hpp"

namespace xdc {
namespace {

constexpr int kMostNodes = 65'536;
constexpr int kMostDevicesPerNode = 1'024;
constexpr int64_t kMostDevices = 65'536;  // of a whole topology; far above what one simulation holds
constexpr Duration kLongestLatency = seconds(3600);
constexpr double kHighestPrice = 1e6;

void refuse_unmodelled(TableReader& table, const std::vector<std::string_view>& keys) {
  for (const auto key : keys) {
    if (table.any(key) != nullptr) table.error(key, "is not modelled yet; remove it, so that nobody takes the result to include it");
  }
}

void read_line(TableReader& table, LineSpec& line, bool latency_required) {
  const auto bandwidth = table.bandwidth("bandwidth");
  const auto latency = table.duration("latency");
  if (!table.has("bandwidth")) table.error("bandwidth", "is required, as in \"1 Gbps\"");
  if (latency_required && !table.has("latency")) table.error("latency", "is required (one way), as in \"14 ms\"");
  if (latency && *latency > kLongestLatency) table.error("latency", "is more than an hour");
  line.bandwidth = bandwidth.value_or(0);
  line.latency = latency.value_or(Duration{});
}

std::optional<LineSpec> read_line_table(TableReader& parent, std::string_view key, bool latency_required) {
  const auto* value = parent.table(key);
  if (value == nullptr) return std::nullopt;
  TableReader table(*value, parent.path_of(key), parent.diagnostics());
  LineSpec line;
  read_line(table, line, latency_required);
  table.finish();
  return line;
}

// Names stand in messages, keys of JSON and options of the command line.
bool is_plain_name(std::string_view name) {
  constexpr size_t kLongest = 64;
  return !name.empty() && name.size() <= kLongest && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return c >= 0x80 || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-' || c == '.';
  });
}

// "10.1.0.1": four numbers up to 255, written as everybody writes them.
bool is_ipv4(std::string_view text) {
  int parts = 0;
  for (;;) {
    const auto part = text.substr(0, text.find('.'));
    const bool digits =
        !part.empty() && part.size() <= 3 && std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (!digits || (part.size() > 1 && part[0] == '0') || std::stoi(std::string(part)) > 255) return false;
    ++parts;
    if (part.size() == text.size()) return parts == 4;
    text.remove_prefix(part.size() + 1);
  }
}

// One address a node; a lone text where there is one node.
std::vector<std::string> read_hosts(TableReader& table, int nodes) {
  const auto* value = table.any("hosts");
  if (value == nullptr) return {};
  const auto* lone = value->string();
  const auto hosts = lone != nullptr ? std::vector<std::string>{*lone} : table.strings("hosts");
  if (hosts.empty()) {
    if (value->array() != nullptr && value->array()->empty()) table.error("hosts", "is empty; leave it out, or give one address a node");
    return {};
  }
  if (static_cast<int>(hosts.size()) != nodes) {
    table.error("hosts", fmt::format("there {} {} address{} for {} node{}; one a node is wanted", hosts.size() == 1 ? "is" : "are",
                                     hosts.size(), hosts.size() == 1 ? "" : "es", nodes, nodes == 1 ? "" : "s"));
  }
  std::set<std::string> seen;
  for (const auto& host : hosts) {
    if (!is_ipv4(host))
      table.error("hosts", fmt::format("\"{}\" is no IPv4 address like \"10.1.0.1\"; names and IPv6 are not supported", host));
    if (!seen.insert(host).second) table.error("hosts", fmt::format("{} is there twice: a node has an address of its own", host));
  }
  return hosts;
}

// [security] tls = "DIR"
std::string read_security(TableReader& root, const std::string& topology_path) {
  const auto* value = root.table("security");
  if (value == nullptr) return {};
  TableReader table(*value, "security", root.diagnostics());
  const auto directory = table.required_string("tls");
  table.finish();
  if (directory.empty() || directory.starts_with('/')) return directory;
  const auto slash = topology_path.rfind('/');
  return slash == std::string::npos ? directory : topology_path.substr(0, slash + 1) + directory;
}

DatacenterSpec read_datacenter(const Value& value, const std::string& path, Diagnostics& diagnostics) {
  TableReader table(value, path, diagnostics);
  DatacenterSpec out;
  out.where = table.where("name");
  out.name = table.required_string("name");
  if (!out.name.empty() && !is_plain_name(out.name)) table.error("name", "a name has up to 64 letters, digits, '_', '-' or '.'");
  out.nodes = static_cast<int>(table.integer("nodes", 1, kMostNodes, 1));
  out.devices_per_node = static_cast<int>(table.integer("devices_per_node", 1, kMostDevicesPerNode, 1));
  out.device = table.string("device", "cpu");
  out.server_device = table.string("server_device", "cpu");
  const auto lan = read_line_table(table, "lan", true);
  if (!table.has("lan")) table.error("lan", "is required, as in { bandwidth = \"200 Gbps\", latency = \"5 us\" }");
  out.lan = lan.value_or(LineSpec{});
  out.intra_node = read_line_table(table, "intra_node", true).value_or(out.lan);
  out.uplink = read_line_table(table, "uplink", false);
  out.egress_price_per_gb = table.optional_number("egress_price_per_gb", 0, kHighestPrice);
  out.device_price_per_hour = table.optional_number("device_price_per_hour", 0, kHighestPrice);
  out.hosts = read_hosts(table, out.nodes);
  table.finish();
  return out;
}

// What a line is to TCP. Without that model the keys would be ignored: errors, then.
void read_tcp(TableReader& table, WanLinkSpec& link, NetworkModel model) {
  if (model == NetworkModel::plain) {
    for (const auto* key : {"streams", "window", "mtu", "loss", "congestion"}) {
      if (table.any(key) != nullptr) table.error(key, "means nothing to [network] model = \"plain\"; remove one of them");
    }
    return;
  }
  link.streams = static_cast<int>(table.integer("streams", 1, 1024, 1));
  link.window_bytes = table.bytes("window").value_or(kDefaultWindowBytes);
  if (link.window_bytes < 1) table.error("window", "must be at least 1 B");
  link.mtu = table.integer("mtu", kLeastMtu, kMostMtu, kDefaultMtu);
  link.congestion = table.one_of("congestion", {"cubic", "bbr"}, "cubic") == "bbr" ? Congestion::bbr : Congestion::cubic;
  link.loss = table.number("loss", 0, 1, 0);
  const bool bbr = link.congestion == Congestion::bbr;
  if (link.loss > (bbr ? kMostLossBbr : kMostLossCubic)) {
    table.error("loss", fmt::format("is more than {}, above which time-outs decide and no formula holds for {}{}",
                                    bbr ? kMostLossBbr : kMostLossCubic, bbr ? "bbr" : "cubic",
                                    bbr ? "" : fmt::format(" (congestion = \"bbr\": up to {})", kMostLossBbr)));
  }
}

WanLinkSpec read_link(const Value& value, const std::string& path, Diagnostics& diagnostics, NetworkModel model) {
  TableReader table(value, path, diagnostics);
  WanLinkSpec out;
  out.where = table.where("between");
  const auto size = diagnostics.errors().size();
  const auto between = table.strings("between");
  if (between.size() == 2) {
    out.between = {between[0], between[1]};
  } else if (diagnostics.errors().size() == size) {
    table.error("between", "two datacenters are wanted, as in [\"beijing\", \"shanghai\"]");
  }
  read_line(table, out.line, true);
  read_tcp(table, out, model);
  refuse_unmodelled(table, {"jitter"});
  table.finish();
  return out;
}

NetworkModel read_network(TableReader& root) {
  const auto* value = root.table("network");
  if (value == nullptr) return NetworkModel::tcp;
  TableReader table(*value, "network", root.diagnostics());
  const auto model = table.one_of("model", {"tcp", "plain"}, "tcp");
  table.finish();
  return model == "plain" ? NetworkModel::plain : NetworkModel::tcp;
}

DeviceSpec read_device(const Value& value, const std::string& name, Diagnostics& diagnostics) {
  TableReader table(value, "device." + name, diagnostics);
  DeviceSpec out;
  out.name = name;
  out.flops_per_s = table.flops("flops").value_or(0);
  out.memory_bandwidth = table.bandwidth("memory_bandwidth").value_or(0);
  out.memory_bytes = table.bytes("memory").value_or(0);
  out.source = table.string("source", "the topology file");
  out.price_per_hour = table.optional_number("price_per_hour", 0, kHighestPrice);
  if (!table.has("flops")) table.error("flops", "is required (sustained), as in \"14 TFLOPS\"");
  if (!table.has("memory_bandwidth")) table.error("memory_bandwidth", "is required, as in \"900 GB/s\"");
  if (!table.has("memory")) table.error("memory", "is required, as in \"80 GB\"");
  if (table.has("memory") && out.memory_bytes < 1) table.error("memory", "must be at least 1 B");
  table.finish();
  return out;
}

std::vector<std::string> names_of(const Topology& topology) {
  std::vector<std::string> names;
  for (const auto& datacenter : topology.datacenters) names.push_back(datacenter.name);
  return names;
}

void check_datacenters(const Topology& topology, Diagnostics& diagnostics) {
  std::map<std::string, SourceLocation> seen;
  int64_t devices = 0;
  for (size_t i = 0; i < topology.datacenters.size(); ++i) {
    const auto& datacenter = topology.datacenters[i];
    devices += datacenter.devices();
    if (datacenter.name.empty()) continue;
    const auto [first, is_new] = seen.emplace(datacenter.name, datacenter.where);
    if (!is_new) {
      diagnostics.error(datacenter.where, fmt::format("datacenter[{}].name", i),
                        fmt::format("\"{}\" is already the name of the datacenter in line {}", datacenter.name, first->second.line));
    }
  }
  if (devices > kMostDevices) {
    diagnostics.error({topology.path, 0, 0}, "", fmt::format("has {} devices; at most {} are supported", devices, kMostDevices));
  }
}

// Each end is a datacenter, the ends differ, no pair twice. True when all of them are so.
bool check_links(const Topology& topology, Diagnostics& diagnostics) {
  const auto size = diagnostics.errors().size();
  const auto names = names_of(topology);
  std::map<std::pair<std::string, std::string>, SourceLocation> seen;
  for (size_t i = 0; i < topology.links.size(); ++i) {
    const auto& link = topology.links[i];
    const auto path = fmt::format("link[{}].between", i);
    const auto& [a, b] = link.between;
    if (a.empty() && b.empty()) continue;  // reported when it was read
    for (const auto& end : link.between) {
      if (topology.datacenter_index(end) >= 0) continue;
      const auto near = nearest_name(end, names);
      diagnostics.error(link.where, path,
                        fmt::format("there is no datacenter \"{}\"{}; there are: {}", end,
                                    near.empty() ? "" : fmt::format(", did you mean \"{}\"?", near), fmt::join(names, ", ")));
    }
    if (a == b) diagnostics.error(link.where, path, fmt::format("joins \"{}\" with itself", a));
    const auto [first, is_new] = seen.emplace(std::minmax(a, b), link.where);
    if (!is_new && a != b) {
      diagnostics.error(link.where, path,
                        fmt::format("\"{}\" and \"{}\" are already joined by the link in line {}; put its bandwidth and streams there", a,
                                    b, first->second.line));
    }
  }
  return diagnostics.errors().size() == size;
}

void check_reachable(const Topology& topology, Diagnostics& diagnostics) {
  for (size_t i = 1; i < topology.datacenters.size(); ++i) {
    const auto& datacenter = topology.datacenters[i];
    if (find_route(topology, 0, static_cast<int>(i))) continue;
    diagnostics.error(datacenter.where, fmt::format("datacenter[{}]", i),
                      fmt::format("\"{}\" cannot be reached from \"{}\": no chain of [[link]] tables joins them", datacenter.name,
                                  topology.datacenters[0].name));
  }
}

template <class T, class Read>
std::vector<T> read_each(TableReader& root, std::string_view key, Read read) {
  std::vector<T> out;
  const auto* items = root.array(key);
  if (items == nullptr) return out;
  for (const auto& item : *items->array()) out.push_back(read(item, fmt::format("{}[{}]", key, out.size()), root.diagnostics()));
  return out;
}

Topology read_tree(const Value& tree, const std::string& path, Diagnostics& diagnostics) {
  Topology out;
  out.path = path;
  TableReader root(tree, "", diagnostics);
  out.datacenters = read_each<DatacenterSpec>(root, "datacenter", read_datacenter);
  out.network = read_network(root);
  out.links = read_each<WanLinkSpec>(root, "link", [&](const Value& value, const std::string& at, Diagnostics& errors) {
    return read_link(value, at, errors, out.network);
  });
  if (const auto* devices = root.table("device")) {
    for (const auto& [name, value] : *devices->table()) out.devices.emplace(name, read_device(value, name, diagnostics));
  }
  out.tls_directory = read_security(root, path);
  const auto* list = root.any("datacenter");
  if (out.datacenters.empty() && (list == nullptr || list->array() != nullptr)) {
    root.error("datacenter", "at least one [[datacenter]] is required");
  }
  root.finish();
  out.canonical = canonical_text(tree);
  return out;
}

}  // namespace

int Topology::datacenter_index(std::string_view name) const {
  for (size_t i = 0; i < datacenters.size(); ++i) {
    if (datacenters[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

Result<Topology> read_topology(const std::string& path, Diagnostics& diagnostics, const SourceLocation& named_at) {
  const Error error{ErrorCode::invalid, fmt::format("the topology {} has errors", path)};
  Diagnostics reading;
  const auto text = read_text_file(path, reading);
  if (!text) {
    const bool named = !named_at.file.empty();
    for (const auto& found : reading.errors()) {
      diagnostics.error(named ? named_at : found.where, named ? "topology" : "",
                        named ? fmt::format("{} {}", path, found.message) : found.message);
    }
    return error;
  }
  const auto tree = parse_toml(*text, path, diagnostics);
  if (!tree) return error;
  const auto before = diagnostics.errors().size();
  auto topology = read_tree(*tree, path, diagnostics);
  check_datacenters(topology, diagnostics);
  if (check_links(topology, diagnostics) && diagnostics.errors().size() == before) check_reachable(topology, diagnostics);
  if (diagnostics.errors().size() != before) return error;
  return topology;
}

std::optional<Route> find_route(const Topology& topology, int from, int to) {
  XDC_CHECK(from != to);
  const auto count = topology.datacenters.size();
  // Dijkstra over (latency, names along the way): both grow with every hop, so a settled label is final.
  struct Label {
    Route route;
    std::vector<std::string> names;
    bool known = false, settled = false;
  };
  std::vector<Label> labels(count);
  const auto before = [](const Label& a, const Label& b) {
    return a.route.latency != b.route.latency ? a.route.latency < b.route.latency : a.names < b.names;
  };
  labels[static_cast<size_t>(from)].known = true;
  for (;;) {
    Label* nearest = nullptr;
    for (auto& label : labels) {
      if (label.known && !label.settled && (nearest == nullptr || before(label, *nearest))) nearest = &label;
    }
    if (nearest == nullptr) return std::nullopt;
    nearest->settled = true;
    const auto here = static_cast<int>(nearest - labels.data());
    if (here == to) return nearest->route;
    for (size_t i = 0; i < topology.links.size(); ++i) {
      const auto& link = topology.links[i];
      const int a = topology.datacenter_index(link.between[0]);
      const int b = topology.datacenter_index(link.between[1]);
      if (here != a && here != b) continue;
      const int there = here == a ? b : a;
      auto& label = labels[static_cast<size_t>(there)];
      Label candidate = *nearest;
      candidate.settled = false;
      candidate.route.hops.push_back({static_cast<int>(i), here == a});
      candidate.route.latency = candidate.route.latency + link.line.latency;
      candidate.names.push_back(topology.datacenters[static_cast<size_t>(there)].name);
      if (!label.settled && (!label.known || before(candidate, label))) label = std::move(candidate);
    }
  }
}

}  // namespace xdc
