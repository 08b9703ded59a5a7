// How many payload bytes must each exchange move? Integer sums over the parts, written from the algorithm's description and
// not from the transfer code: a test holds the measured ledger against them, equal.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "core/codec/codec.hpp"
#include "core/collectives/geometry.hpp"

namespace xdc {

// Payload bytes from one datacenter to another (topology indices); pairs without traffic are absent.
using PairBytes = std::map<std::pair<int, int>, int64_t>;

// The edge from rank i to its next one in a ring of n = chunks.size() ranks. Reduce-scatter: every chunk but i + 1, encoded
// by the hop's codec; all-gather: every chunk but i + 2, encoded by the codec of finished sums.
int64_t ring_edge_bytes(const Geometry& geometry, const std::vector<Range>& chunks, int edge, const CodecSpec& hop,
                        const CodecSpec& finished);

// From member `from` to member `to` (from != to) of a group whose member i owns parts[i]: `from` sends its contribution to
// the part of `to`, and its own finished part.
int64_t mesh_pair_bytes(const Geometry& geometry, const std::vector<Range>& parts, int from, int to, const CodecSpec& codec);

// Every member sends all of the range to every other one.
int64_t allgather_pair_bytes(const Geometry& geometry, Range range, const CodecSpec& codec);

}  // namespace xdc
