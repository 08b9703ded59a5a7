#include "core/collectives/closed_form.hpp"

namespace xdc {

int64_t ring_edge_bytes(const Geometry& geometry, const std::vector<Range>& chunks, int edge, const CodecSpec& hop,
                        const CodecSpec& finished) {
  const auto n = chunks.size();
  if (n < 2) {
    return 0;
  }
  const auto i = static_cast<size_t>(edge);
  int64_t bytes = 0;
  for (size_t c = 0; c < n; ++c) {
    bytes += c == (i + 1) % n ? 0 : geometry.wire_bytes(hop, chunks[c]);
    bytes += c == (i + 2) % n ? 0 : geometry.wire_bytes(finished, chunks[c]);
  }
  return bytes;
}

int64_t mesh_pair_bytes(const Geometry& geometry, const std::vector<Range>& parts, int from, int to, const CodecSpec& codec) {
  return geometry.wire_bytes(codec, parts[static_cast<size_t>(to)]) + geometry.wire_bytes(codec, parts[static_cast<size_t>(from)]);
}

int64_t allgather_pair_bytes(const Geometry& geometry, Range range, const CodecSpec& codec) { return geometry.wire_bytes(codec, range); }

}  // namespace xdc
