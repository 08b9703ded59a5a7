#include "sim/ring_time.hpp"

#include <algorithm>

#include "core/seam/fabric.hpp"

namespace xdc {
namespace {

// Along all lines but the quickest; what a message needs for its way.
struct Way {
  double latency_s = 0;
  double per_byte_s = 0;
  double slowest_per_byte_s = 0;
};

Way way_along(std::span<const LineSpec> lines) {
  Way way;
  double least_latency = to_seconds(lines.front().latency);
  double least_per_byte = 1 / lines.front().bandwidth;
  for (const auto& line : lines) {
    const double latency = to_seconds(line.latency);
    const double per_byte = 1 / line.bandwidth;
    way.latency_s += latency;
    way.per_byte_s += per_byte;
    way.slowest_per_byte_s = std::max(way.slowest_per_byte_s, per_byte);
    least_latency = std::min(least_latency, latency);
    least_per_byte = std::min(least_per_byte, per_byte);
  }
  way.latency_s -= least_latency;
  way.per_byte_s -= least_per_byte;
  return way;
}

// One part's journey, piece by piece.
double journey_s(const Way& way, double bytes) {
  const double piece = std::min(bytes, kPiece);
  return (piece + static_cast<double>(kControlBytes)) * way.per_byte_s + (bytes - piece) * way.slowest_per_byte_s;
}

}  // namespace

Duration ring_phase_time(std::span<const LineSpec> lines, std::span<const double> part_bytes) {
  if (lines.size() < 2) {
    return {};
  }
  const auto way = way_along(lines);
  double total = 0;
  for (const double bytes : part_bytes) total += bytes;
  const auto [smallest, biggest] = std::minmax_element(part_bytes.begin(), part_bytes.end());
  const double messages = static_cast<double>(lines.size() - 1);
  const double busiest_line_s = (total - *smallest + messages * static_cast<double>(kControlBytes)) * way.slowest_per_byte_s;
  return from_seconds(way.latency_s + std::max(busiest_line_s, journey_s(way, *biggest)));
}

Duration ring_broadcast_time(std::span<const LineSpec> lines, double bytes) {
  if (lines.size() < 2) {
    return {};
  }
  const auto way = way_along(lines);
  return from_seconds(way.latency_s + journey_s(way, bytes));
}

}  // namespace xdc
