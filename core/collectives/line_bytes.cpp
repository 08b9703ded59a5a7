#include "core/collectives/line_bytes.hpp"

#include <algorithm>

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
  double busiest = 0;
  for (const auto& [line, bytes] : line_bytes(topology, pairs)) {
    busiest = std::max(busiest, static_cast<double>(bytes) / topology.links[static_cast<size_t>(line.first)].line.bandwidth);
  }
  return busiest;
}

}  // namespace xdc
