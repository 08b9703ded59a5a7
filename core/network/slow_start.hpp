// How long does a connection that starts cold wait for acknowledgements? It sends its window, waits until a round trip after the
// window's first byte, and goes on with twice as much, until the window fills the round trip (RFC 5681, 3.1 and 4.1).
//
// With C = the free rate of its path and w_k = initial window * 2^k, a first message of S bytes waits
//
//   sum over k of RTT - w_k / C,  for all k with w_k < C RTT and w_0 + ... + w_k < S
//
// (Heidemann, Obraczka, Touch, IEEE/ACM ToN 5(5), 1997; Cardwell, Savage, Anderson, INFOCOM 2000). A later message goes on where
// the last one stopped: what was sent a round trip ago is acknowledged and has made the window larger by as much.
//
// The wait is worked out before a message starts, as if its connection had the lines to itself; with others on them the real ramp
// would end earlier, by at most one round trip for each doubling of their number.
#pragma once

#include "core/network/tcp_path.hpp"

namespace xdc {

class SlowStart {
 public:
  // A message of so many wire bytes is about to be sent: how long its connection will stand still. Ends what went before.
  Duration stall(const TcpPath& path, TimePoint now, int64_t wire_bytes);
  // The connection has sent a message's last byte.
  void sent(TimePoint now) { last_sent_ = now; }

 private:
  int64_t window_ = 0;  // 0: never used
  int64_t used_ = 0;    // of the window, not yet acknowledged
  TimePoint acknowledged_at_;
  TimePoint last_sent_;
};

}  // namespace xdc
