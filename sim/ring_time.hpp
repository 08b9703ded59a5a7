// How long does a ring take inside a datacenter? The alpha-beta time of reduce-scatter and all-gather along a ring (Patarasuk &
// Yuan 2009; Thakur, Rabenseifner, Gropp 2005) over the ports between its members.
//
// With n ranks, equal lines (B bytes per second, latency L) and even parts of S/n bytes, a phase takes (n-1) (S/n / B + L). Parts
// may be uneven: a ring forwards them piece by piece (kPiece), so with `biggest` the largest part and c = min(biggest, kPiece)
//
//   phase = sum of latencies along n-1 lines + max( (S - smallest) / B_slowest,  sum of c / B along n-1 lines + (biggest - c) / B_slowest )
//
// where the n-1 lines are all but the quickest. Each message also carries its control words. The lines are taken as free: hardware
// collectives have their own time and do not contend with messages.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/time.hpp"
#include "core/config/topology.hpp"

namespace xdc {

inline constexpr double kPiece = 512 * 1024;

// lines[i] leads from member i to the next one. part_bytes: as charged; they need not be whole.
Duration ring_phase_time(std::span<const LineSpec> lines, std::span<const double> part_bytes);
// Everything passes from the root along the ring, piece by piece.
Duration ring_broadcast_time(std::span<const LineSpec> lines, double bytes);

}  // namespace xdc
