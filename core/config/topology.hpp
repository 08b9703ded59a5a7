// Which datacenters, nodes, devices and lines are there? The topology file, parsed; what its names refer to is checked
// in core/validate.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/base/time.hpp"
#include "core/config/diagnostics.hpp"
#include "core/config/network_constants.hpp"

namespace xdc {

// Per direction.
struct LineSpec {
  double bandwidth = 0;  // bytes per second
  Duration latency;      // one way
};

// A roofline (Williams et al., CACM 2009): time = max(flops / flops_per_s, bytes / memory_bandwidth).
struct DeviceSpec {
  std::string name;
  double flops_per_s = 0;       // sustained on the training kernels in question, not the data sheet's peak
  double memory_bandwidth = 0;  // bytes per second
  int64_t memory_bytes = 0;
  std::string source;                         // where the figures are from
  std::optional<double> price_per_hour = {};  // where a datacenter does not say its own
};

struct DatacenterSpec {
  std::string name;
  SourceLocation where;
  int nodes = 1;
  int devices_per_node = 1;
  std::string device = "cpu";         // of the topology's [device.*] or the built-in table
  std::string server_device = "cpu";  // what a parameter server runs on, likewise
  LineSpec lan;                       // joins nodes: each node has one such port per direction
  LineSpec intra_node;                // joins the devices of a node: each device has one such port; default: as lan
  std::optional<LineSpec> uplink;     // shared by all that enters and leaves the datacenter; default: none such
  std::optional<double> egress_price_per_gb;
  std::optional<double> device_price_per_hour;
  std::vector<std::string> hosts;  // IPv4 addresses, one a node, for xdc-run; empty: none were given

  int devices() const { return nodes * devices_per_node; }
};

enum class Congestion : uint8_t { cubic, bbr };

struct WanLinkSpec {
  std::array<std::string, 2> between;
  SourceLocation where;
  LineSpec line;
  // For the model `tcp` (core/network); `plain` knows none of them.
  int streams = 1;                             // parallel TCP streams of one connection
  int64_t window_bytes = kDefaultWindowBytes;  // per stream: rate <= window / round-trip time
  int64_t mtu = kDefaultMtu;                   // bytes of an IP packet
  double loss = 0;                             // of packets, at random
  Congestion congestion = Congestion::cubic;
};

// What a message between datacenters costs. Inside one, lan and intra_node are always plain: their bandwidth is what a message gets.
enum class NetworkModel : uint8_t {
  tcp,    // framing, windows, loss, slow start
  plain,  // (payload + control words) / bandwidth + latency, and fair sharing
};

struct Topology {
  std::string path;
  std::vector<DatacenterSpec> datacenters;  // order of the file: it is the order of addition
  std::vector<WanLinkSpec> links;
  NetworkModel network = NetworkModel::tcp;                // [network] model
  std::map<std::string, DeviceSpec, std::less<>> devices;  // [device.NAME]
  std::string tls_directory;                               // [security] tls, relative to the file's folder; empty: none. For xdc-run
  std::string canonical;                                   // what the digest is taken of

  int datacenter_index(std::string_view name) const;  // -1: none such
};

// Reads one file; every error of it is in `diagnostics`, and then the result is an error too. `named_at`: where the path
// was written; a file that cannot be read at all is reported there.
Result<Topology> read_topology(const std::string& path, Diagnostics& diagnostics, const SourceLocation& named_at = {});

// The route between two datacenters is that of least latency, ties by the names along it.
//   hops[i] is an index into links; forward says whether it is crossed from between[0] to between[1].
struct Hop {
  int link = 0;
  bool forward = true;
};
struct Route {
  std::vector<Hop> hops;
  Duration latency;
};
// nullopt: no way there. Requires from != to, both valid.
std::optional<Route> find_route(const Topology& topology, int from, int to);

}  // namespace xdc
