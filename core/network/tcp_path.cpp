#include "core/network/tcp_path.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/check.hpp"

namespace xdc {
namespace {

constexpr int64_t kSegmentHeaders = kEthernetBytes + kIpHeaderBytes + kTcpHeaderBytes + kTcpTimestampsBytes;

int64_t parts(int64_t bytes, int64_t most) { return (bytes + most - 1) / most; }

// With square roots alone, whose bits are the same everywhere.
double cubic_segments(double loss, double round_trip_s) {
  const double c = kCubicC * (3 + kCubicBeta) / (4 * (1 - kCubicBeta));
  const double per_loss = round_trip_s / loss;
  const double cubic = std::sqrt(std::sqrt(c * per_loss * per_loss * per_loss));
  return std::max(cubic, std::sqrt(kMathisSquared / loss));
}

// The least bandwidth of all that a message between the two crosses.
double least_bandwidth(const Topology& topology, int from, int to, const Route& route) {
  double least = std::numeric_limits<double>::infinity();
  for (const int end : {from, to}) {
    const auto& datacenter = topology.datacenters[static_cast<size_t>(end)];
    if (datacenter.lan.bandwidth > 0) least = std::min(least, datacenter.lan.bandwidth);  // 0: a topology of lines alone
    if (datacenter.uplink) least = std::min(least, datacenter.uplink->bandwidth);
  }
  for (const auto& hop : route.hops) {
    least = std::min(least, topology.links[static_cast<size_t>(hop.link)].line.bandwidth);
  }
  return least;
}

Route route_between(const Topology& topology, int from, int to) {
  const auto route = find_route(topology, from, to);
  XDC_CHECK(route.has_value());
  return *route;
}

}  // namespace

int64_t TcpPath::wire_bytes(int64_t payload_bytes) const {
  XDC_CHECK(payload_bytes >= 0);
  const int64_t messages = std::max<int64_t>(1, parts(payload_bytes, kGrpcMessageBytes));
  const int64_t framed = payload_bytes + messages * (kMessageHeaderBytes + kGrpcPrefixBytes);
  const int64_t stream_bytes = framed + parts(framed, kHttp2FrameBytes) * kHttp2HeaderBytes;
  const int64_t wire = stream_bytes + parts(stream_bytes, segment_bytes) * kSegmentHeaders;
  return loss > 0 ? static_cast<int64_t>(std::ceil(static_cast<double>(wire) / (1 - loss))) : wire;
}

Duration path_latency(const Topology& topology, int from, int to, const Route& route) {
  auto latency = route.latency;
  for (const int end : {from, to}) {
    const auto& uplink = topology.datacenters[static_cast<size_t>(end)].uplink;
    if (uplink) latency = latency + uplink->latency;
  }
  return latency;
}

TcpPath tcp_path(const Topology& topology, int from, int to, const Route& route) {
  XDC_CHECK(!route.hops.empty());
  TcpPath path;
  auto congestion = Congestion::bbr;
  int64_t mtu = kMostMtu, window = std::numeric_limits<int64_t>::max();
  double kept = 1;
  path.streams = std::numeric_limits<int>::max();
  for (const auto& hop : route.hops) {
    const auto& link = topology.links[static_cast<size_t>(hop.link)];
    path.streams = std::min(path.streams, link.streams);
    mtu = std::min(mtu, link.mtu);
    window = std::min(window, link.window_bytes);
    kept *= 1 - link.loss;
    congestion = link.congestion == Congestion::bbr ? congestion : Congestion::cubic;
  }
  path.loss = 1 - kept;
  path.segment_bytes = mtu + kEthernetBytes - kSegmentHeaders;
  path.round_trip = path_latency(topology, from, to, route) * 2;
  const double segment_on_the_line = static_cast<double>(mtu + kEthernetBytes);
  const double round_trip_s = to_seconds(path.round_trip);
  if (round_trip_s > 0) {
    double segments = static_cast<double>(window) / static_cast<double>(path.segment_bytes);
    if (path.loss > 0 && congestion == Congestion::cubic) {
      segments = std::min(segments, cubic_segments(path.loss, round_trip_s));
    }
    path.rate_limit = path.streams * segments * segment_on_the_line / round_trip_s;
  }
  const double least = least_bandwidth(topology, from, to, route);
  path.free_rate = path.rate_limit > 0 ? std::min(path.rate_limit, least) : least;
  path.initial_window = path.streams * kInitialWindowSegments * (mtu + kEthernetBytes);
  path.restart_after =
      congestion == Congestion::bbr ? Duration{std::numeric_limits<int64_t>::max()} : path.round_trip + kLeastRetransmissionTimeout;
  return path;
}

double wire_per_payload(const Topology& topology, int from, int to) {
  if (topology.network == NetworkModel::plain) {
    return 1;
  }
  const auto path = tcp_path(topology, from, to, route_between(topology, from, to));
  return (1 + static_cast<double>(kSegmentHeaders) / static_cast<double>(path.segment_bytes)) / (1 - path.loss);
}

double connection_seconds(const Topology& topology, int from, int to, double payload_bytes) {
  const auto route = route_between(topology, from, to);
  const double rate =
      topology.network == NetworkModel::plain ? least_bandwidth(topology, from, to, route) : tcp_path(topology, from, to, route).free_rate;
  return payload_bytes * wire_per_payload(topology, from, to) / rate;
}

}  // namespace xdc
