// Which lines do bytes between datacenters cross? Every line of the route is charged.
#pragma once

#include <map>
#include <utility>

#include "core/collectives/closed_form.hpp"
#include "core/config/topology.hpp"

namespace xdc {

// Bytes per line (index into Topology::links) and direction (true: from between[0] to between[1]); lines that nothing crosses
// are absent.
using LineBytes = std::map<std::pair<int, bool>, int64_t>;

LineBytes line_bytes(const Topology& topology, const PairBytes& pairs);

// The time the busiest line needs at its rate, headers included: no exchange of these bytes can be faster.
double busiest_line_seconds(const Topology& topology, const PairBytes& pairs);

// The time the slowest pair needs if one connection after another carries its bytes: windows may hold a connection far below its
// lines' rate. Several at the same time, `connections` of them, divide it at best.
double slowest_pair_seconds(const Topology& topology, const PairBytes& pairs, int connections = 1);

}  // namespace xdc
