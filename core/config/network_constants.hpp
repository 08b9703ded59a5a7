// Which figures of TCP over Ethernet are the same for every topology, and where are they from? What differs from line to line
// is a key of [[link]]; this is the rest. Used by core/network.
#pragma once

#include <cstdint>

#include "core/base/time.hpp"

namespace xdc {

// Around every IP packet on Ethernet: preamble and start 8, header 14, check sequence 4, gap 12 (IEEE 802.3-2018, 3.1.1 and 4.4.2).
// The bandwidth of a leased line is what its Ethernet port says, so all of it counts.
inline constexpr int64_t kEthernetBytes = 38;
inline constexpr int64_t kIpHeaderBytes = 20;       // IPv4 without options: RFC 791, 3.1
inline constexpr int64_t kTcpHeaderBytes = 20;      // RFC 9293, 3.1
inline constexpr int64_t kTcpTimestampsBytes = 12;  // RFC 7323, 3.2 and appendix A; on by default in Linux (net.ipv4.tcp_timestamps)
inline constexpr int64_t kDefaultMtu = 1500;        // IEEE 802.3; a key of [[link]]
inline constexpr int64_t kLeastMtu = 576;           // every host takes packets of this size: RFC 791, 3.1
inline constexpr int64_t kMostMtu = 65'535;         // the longest IPv4 packet

// What stands around a payload inside the byte stream: as exec/grpc sends it, without TLS.
inline constexpr int64_t kMessageHeaderBytes = 72;              // before each: exec/grpc/frame.hpp, control words included
inline constexpr int64_t kGrpcMessageBytes = int64_t{2} << 20;  // a payload is cut into gRPC messages of this: exec/grpc/tuning.hpp
inline constexpr int64_t kGrpcPrefixBytes = 5;                  // before each: gRPC over HTTP/2, Length-Prefixed-Message
inline constexpr int64_t kHttp2FrameBytes = int64_t{1} << 20;   // longest DATA frame: exec/grpc/tuning.hpp
inline constexpr int64_t kHttp2HeaderBytes = 9;                 // before each: RFC 9113, 4.1

// 10 segments: RFC 6928, 2; Linux include/net/tcp.h, TCP_INIT_CWND.
inline constexpr int64_t kInitialWindowSegments = 10;
// A connection that has sent nothing for longer than its retransmission time-out starts again at the initial window (RFC 5681, 4.1).
// On Linux the time-out on a steady line is one round trip and this: net/ipv4/tcp_input.c, __tcp_set_rto; include/net/tcp.h,
// TCP_RTO_MIN. With bbr it does not start again: include/net/tcp.h, tcp_slow_start_after_idle_check.
inline constexpr Duration kLeastRetransmissionTimeout = milliseconds(200);
// What one TCP stream has under way at most: half of a receive buffer that Linux lets grow to 6 MiB (Documentation/networking/ip-sysctl,
// tcp_rmem and tcp_adv_win_scale = 1, up to Linux 6.5). A key of [[link]].
inline constexpr int64_t kDefaultWindowBytes = int64_t{3} << 20;

// CUBIC under random loss, average window in segments (RFC 8312, 5, equation 5; RFC 9438, 5): (C (3+b) / (4 (1-b)))^1/4 (RTT^3 / p^3)^1/4,
inline constexpr double kCubicC = 0.4;     // RFC 9438, 5.1
inline constexpr double kCubicBeta = 0.7;  // RFC 9438, 4.6
// and no less than standard TCP's sqrt(3/2 / p) (Mathis, Semke, Mahdavi, Ott, CCR 27(3), 1997; RFC 9438, 4.3).
inline constexpr double kMathisSquared = 1.5;
// Where these stop to hold: measured, CUBIC stands still above 1 % of loss, and BBR has the line's rate less what is lost up to 5 %
// (Cardwell, Cheng, Gunn, Yeganeh, Jacobson, ACM Queue 14(5), 2016, figure 10).
inline constexpr double kMostLossCubic = 0.01;
inline constexpr double kMostLossBbr = 0.05;

}  // namespace xdc
