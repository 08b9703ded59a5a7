#include "core/collectives/line_bytes.hpp"

#include <algorithm>

#include "core/network/tcp_path.hpp"

namespace xdc {

LineBytes line_bytes(const Topology& topology, const PairBytes& pairs) {
  LineBytes lines;
  for (const auto& [pair, bytes] : pairs) {
    const auto route = find_route(topology, pair.first, pair.second);
    XDC_CHECK(route.has_value());
    for (const Hop hop : route->hops) {
      lines[{hop.link, hop.forward}] += bytes;
    }
  }
  return lines;
}

double busiest_line_seconds(const Topology& topology, const PairBytes& pairs) {
  std::map<std::pair<int, bool>, double> seconds;
  double busiest = 0;
  for (const auto& [pair, bytes] : pairs) {
    const double wire = static_cast<double>(bytes) * wire_per_payload(topology, pair.first, pair.second);
    for (const auto& [line, all] : line_bytes(topology, {{pair, bytes}})) {
      auto& sum = seconds[line];
      sum += wire / topology.links[static_cast<size_t>(line.first)].line.bandwidth;
      busiest = std::max(busiest, sum);
    }
  }
  return busiest;
}

double slowest_pair_seconds(const Topology& topology, const PairBytes& pairs, int connections) {
  double slowest = 0;
  for (const auto& [pair, bytes] : pairs) {
    slowest = std::max(slowest, connection_seconds(topology, pair.first, pair.second, static_cast<double>(bytes)));
  }
  return slowest / connections;
}

}  // namespace xdc
