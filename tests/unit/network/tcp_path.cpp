#include "core/network/tcp_path.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "exec/grpc/tuning.hpp"

namespace xdc {
namespace {

// a - b - c in a row, 1 Gbps and 15 ms each.
Topology row() {
  Topology t;
  for (const auto* name : {"a", "b", "c"}) {
    DatacenterSpec datacenter;
    datacenter.name = name;
    datacenter.lan = datacenter.intra_node = {1.25e9, {50'000}};
    t.datacenters.push_back(datacenter);
  }
  for (const auto* ends : {"ab", "bc"}) {
    WanLinkSpec link;
    link.between = {std::string(1, ends[0]), std::string(1, ends[1])};
    link.line = {125e6, milliseconds(15)};
    t.links.push_back(link);
  }
  return t;
}

TcpPath path(const Topology& t, int from, int to) { return tcp_path(t, from, to, find_route(t, from, to).value()); }

// The average window of one stream under loss, in segments.
double segments_under(double loss, double round_trip_s) {
  auto t = row();
  t.links[0].line.latency = from_seconds(round_trip_s / 2);
  t.links[0].window_bytes = int64_t{1} << 50;
  t.links[0].loss = loss;
  return path(t, 0, 1).rate_limit * round_trip_s / 1538;
}

}  // namespace

TEST_CASE("a message takes its bytes, its framing inside the stream and 90 bytes of headers a segment") {
  const auto p = path(row(), 0, 1);
  CHECK(p.segment_bytes == 1448);
  CHECK(p.wire_bytes(0) == 86 + 90);
  CHECK(p.wire_bytes(1362) == 1448 + 90);
  CHECK(p.wire_bytes(1363) == 1449 + 180);
  // One gRPC message, one frame: 1000086 bytes in 691 segments.
  CHECK(p.wire_bytes(1'000'000) == 1'000'086 + 691 * 90);
  // Three gRPC messages, five frames: 216 + 15 + 45; 3454 segments.
  CHECK(p.wire_bytes(5'000'000) == 5'000'276 + 3454 * 90);
}

TEST_CASE("messages are framed as exec/grpc frames them") {
  CHECK(kMessageHeaderBytes == static_cast<int64_t>(kHeaderBytes));
  CHECK(kGrpcMessageBytes == static_cast<int64_t>(kChunkBytes));
  CHECK(kHttp2FrameBytes == kMaxFrameBytes);
}

TEST_CASE("bigger packets have fewer headers, and the smallest along a route counts") {
  auto t = row();
  t.links[0].mtu = 9000;
  CHECK(path(t, 0, 1).segment_bytes == 8948);
  CHECK(path(t, 0, 1).wire_bytes(1'000'000) == 1'000'086 + 112 * 90);
  CHECK(path(t, 0, 2).segment_bytes == 1448);
}

TEST_CASE("what is lost is sent again") {
  auto t = row();
  t.links[0].loss = 0.01;
  CHECK(path(t, 0, 1).wire_bytes(1'000'000) == 1'073'007);  // 1062260 / 0.99 = 1072989.9
  t.links[1].loss = 0.005;
  CHECK(path(t, 0, 2).loss == Approx(1 - 0.99 * 0.995));
  CHECK(path(t, 1, 2).wire_bytes(0) == 177);
}

TEST_CASE("a stream has a window under way for each round trip, headers not counted") {
  auto t = row();
  t.links[0].window_bytes = 144'800;  // 100 segments of 1538 bytes every 30 ms
  CHECK(path(t, 0, 1).rate_limit == Approx(153'800 / 0.03));
  t.links[0].streams = 4;
  CHECK(path(t, 0, 1).rate_limit == Approx(4 * 153'800 / 0.03));
  CHECK(path(t, 0, 1).initial_window == 4 * 15'380);
  CHECK(path(t, 0, 1).free_rate == Approx(4 * 153'800 / 0.03));
  t.links[0].streams = 1024;
  CHECK(path(t, 0, 1).free_rate == 125e6);
  // Over both links: twice the round trip, one stream, the smaller window.
  CHECK(path(t, 0, 2).rate_limit == Approx(153'800 / 0.06));
}

TEST_CASE("a window is three mebibytes where none is given") {
  CHECK(path(row(), 0, 1).rate_limit == Approx(3.0 * 1048576 / 1448 * 1538 / 0.03));
}

TEST_CASE("uplinks add their latency to the round trip and bound the free rate") {
  auto t = row();
  t.datacenters[0].uplink = LineSpec{50e6, milliseconds(1)};
  t.datacenters[2].uplink = LineSpec{60e6, milliseconds(2)};
  CHECK(path(t, 0, 1).round_trip == milliseconds(32));
  CHECK(path(t, 0, 2).round_trip == milliseconds(66));
  CHECK(path_latency(t, 2, 0, find_route(t, 2, 0).value()) == milliseconds(33));
  CHECK(path(t, 0, 1).free_rate == 50e6);
  t.datacenters[1].lan.bandwidth = 20e6;
  CHECK(path(t, 0, 1).free_rate == 20e6);
}

TEST_CASE("cubic's window under loss is that of the table in RFC 8312, and never below standard TCP's") {
  // Table 1, round trip 0.1 s, C = 0.4.
  CHECK(std::round(segments_under(1e-4, 0.1)) == 187);
  CHECK(std::round(segments_under(1e-5, 0.1)) == 1054);
  CHECK(std::round(segments_under(1e-6, 0.1)) == 5926);
  CHECK(segments_under(1e-2, 0.1) == Approx(std::sqrt(150.0)));
  CHECK(segments_under(1e-3, 0.01) == Approx(std::sqrt(1500.0)));
  CHECK(segments_under(3e-5, 0.25) == Approx(std::pow(0.4 * 3.7 / 1.2, 0.25) * std::pow(0.25 / 3e-5, 0.75)));
}

TEST_CASE("bbr is not slowed by loss, and starts once only") {
  auto t = row();
  CHECK(path(t, 0, 1).restart_after == milliseconds(230));
  const double unhurt = path(t, 0, 1).rate_limit;
  t.links[0].loss = 0.01;
  CHECK(path(t, 0, 1).rate_limit < unhurt / 50);
  t.links[0].congestion = Congestion::bbr;
  CHECK(path(t, 0, 1).rate_limit == unhurt);
  CHECK(path(t, 0, 1).restart_after > seconds(1'000'000));
  CHECK(path(t, 0, 2).restart_after == milliseconds(260));  // the other link says cubic
}

TEST_CASE("without latency nothing limits a stream but the lines") {
  auto t = row();
  t.links[0].line.latency = {};
  CHECK(path(t, 0, 1).rate_limit == 0);
  CHECK(path(t, 0, 1).free_rate == 125e6);
}

TEST_CASE("a connection alone needs its payload with headers at its free rate") {
  auto t = row();
  t.links[0].window_bytes = 14'480;
  CHECK(connection_seconds(t, 0, 1, 1'448e6) == Approx(1'538e6 / (15'380 / 0.03)));
  t.network = NetworkModel::plain;
  CHECK(connection_seconds(t, 0, 1, 125e6) == 1);
}

}  // namespace xdc
