// What is known of the line to a peer before anything was sent?
#pragma once

#include <cstdint>

#include "core/base/time.hpp"

namespace xdc {

// Inside a datacenter (the default): one connection, payloads are lent to it, and when it breaks the peer is gone. Between datacenters:
// several connections, which may break and come back; what is on its way is kept until the peer has it.
struct Line {
  bool resumes = false;
  int streams = 1;                  // parallel connections, opened when there is that much to send; 1 unless it resumes
  int64_t window_bytes = 16 << 20;  // kept for sending again; a sender waits when so much is on its way
  // A connection on which nothing is acknowledged for so long is given up and made again: TCP's own patience doubles with
  // every loss, so after a cut it may find the line back long after it came.
  Duration silence = seconds(3);
};

// Of a line between datacenters of so many streams, bits per second, and time there and back.
Line line_between(int streams, double bits_per_second, Duration round_trip);

}  // namespace xdc
