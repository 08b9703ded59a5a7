#include "exec/grpc/line.hpp"

#include <algorithm>

#include "exec/grpc/tuning.hpp"

namespace xdc {

Line line_between(int streams, double bits_per_second, Duration round_trip) {
  constexpr int64_t kLeast = int64_t{16} << 20, kMost = int64_t{256} << 20;
  const double bytes_per_second = std::max(bits_per_second, 1.0) / 8;
  Line line{true, streams, kLeast, seconds(2)};
  // Twice what the line holds, and the pieces that are being put together at its ends.
  const double held = bytes_per_second * to_seconds(round_trip) * 2 + static_cast<double>(kChunkBytes) * streams * 2;
  line.window_bytes = std::clamp(static_cast<int64_t>(std::min(held, 1e15)), kLeast, kMost);
  // A question waits behind what gRPC and the kernel have taken already, on all streams of a slow line.
  const double queued = static_cast<double>(kQueuedBytes) * streams / bytes_per_second;
  line.silence = line.silence + round_trip * 4 + nanoseconds(static_cast<int64_t>(std::min(queued, 120.0) * 1e9));
  return line;
}

}  // namespace xdc
