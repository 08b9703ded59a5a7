// What does TCP make of the way between two datacenters? Its figures, from the topology and core/config/network_constants.hpp.
//
// A connection is one ordered pair of members and one purpose (so does exec/grpc) and sends one message after another over `streams`
// parallel TCP streams. It is end to end: along a route it has the fewest streams, the smallest window and packets of its links,
// cubic unless all of them say bbr, and loses what any of them loses.
//
//   segment      mtu - 52 bytes of the stream in mtu + 38 bytes of line (headers of TCP with timestamps, IP, Ethernet)
//   wire bytes   stream bytes + 90 for each segment begun, over 1 - loss: what is lost is sent again
//   stream       payload + header, gRPC's prefixes and HTTP/2's frame headers
//   rate         streams * min(window, cubic's window) / round trip, in wire bytes; bbr: streams * window / round trip
//   cubic        max( (C (3+b) / (4 (1-b)) RTT^3 / p^3)^1/4, (3/2 / p)^1/2 ) segments (RFC 9438; Mathis et al. 1997)
//
// Not modelled: acknowledgements on the way back (one of 90 bytes for two segments, or fewer), handshakes, queues, jitter, time-outs.
#pragma once

#include "core/config/topology.hpp"

namespace xdc {

struct TcpPath {
  int64_t segment_bytes = 0;  // of the stream
  int streams = 1;
  double loss = 0;
  Duration round_trip;
  double rate_limit = 0;       // wire bytes per second of one connection; 0: none
  double free_rate = 0;        // what one connection gets of lines that nobody else uses, wire bytes per second
  int64_t initial_window = 0;  // wire bytes of all streams
  Duration restart_after;      // idle for longer, it starts at the initial window again

  // What a message of so many payload bytes takes of every line, control words included. Requires payload_bytes >= 0.
  int64_t wire_bytes(int64_t payload_bytes) const;
};

// One way from `from` to `to` over `route`: the links' latencies and those of the uplinks at both ends.
Duration path_latency(const Topology& topology, int from, int to, const Route& route);

TcpPath tcp_path(const Topology& topology, int from, int to, const Route& route);

// Wire bytes for each payload byte, at least: no message takes fewer. 1 where the network is plain.
double wire_per_payload(const Topology& topology, int from, int to);

// Seconds one connection alone needs to send a payload from one datacenter to another, once it is at speed; either model.
double connection_seconds(const Topology& topology, int from, int to, double payload_bytes);

}  // namespace xdc
