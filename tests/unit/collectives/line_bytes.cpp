#include "core/collectives/line_bytes.hpp"

#include <catch2/catch.hpp>

namespace xdc {
namespace {

// a - b at 125 MB/s, b - c at 50 MB/s, plain.
Topology row() {
  Topology t;
  t.network = NetworkModel::plain;
  for (const auto* name : {"a", "b", "c"}) {
    DatacenterSpec datacenter;
    datacenter.name = name;
    datacenter.lan = datacenter.intra_node = {1.25e9, {50'000}};
    t.datacenters.push_back(datacenter);
  }
  WanLinkSpec link;
  link.between = {"a", "b"};
  link.line = {125e6, milliseconds(15)};
  t.links.push_back(link);
  link.between = {"c", "b"};
  link.line = {50e6, milliseconds(15)};
  t.links.push_back(link);
  return t;
}

const PairBytes kPairs{{{0, 1}, 100'000'000}, {{0, 2}, 40'000'000}, {{2, 0}, 10'000'000}};

}  // namespace

TEST_CASE("every line of a route is charged, each direction apart") {
  const LineBytes expected{{{0, true}, 140'000'000}, {{1, false}, 40'000'000}, {{0, false}, 10'000'000}, {{1, true}, 10'000'000}};
  CHECK(line_bytes(row(), kPairs) == expected);
}

TEST_CASE("the busiest line is that of the most time, with the headers of its packets over TCP") {
  auto t = row();
  CHECK(busiest_line_seconds(t, kPairs) == Approx(140.0 / 125));
  CHECK(busiest_line_seconds(t, {{{0, 2}, 40'000'000}}) == Approx(0.8));
  t.network = NetworkModel::tcp;
  CHECK(busiest_line_seconds(t, kPairs) == Approx(140.0 / 125 * 1538 / 1448));
  t.links[1].loss = 0.01;  // of a's bytes to c only
  CHECK(busiest_line_seconds(t, kPairs) == Approx((100 + 40 / 0.99) / 125 * 1538 / 1448));
}

TEST_CASE("the slowest pair is held by its connection's window") {
  auto t = row();
  CHECK(slowest_pair_seconds(t, kPairs) == Approx(0.8));
  t.network = NetworkModel::tcp;
  t.links[0].window_bytes = 14'480;
  // 10 segments for each round trip of 30 or 60 ms.
  CHECK(slowest_pair_seconds(t, {{{0, 1}, 100'000'000}}) == Approx(100e6 / 14'480 * 0.03));
  CHECK(slowest_pair_seconds(t, kPairs) == Approx(100e6 / 14'480 * 0.03));
  CHECK(slowest_pair_seconds(t, {{{0, 2}, 100'000'000}}, 4) == Approx(100e6 / 14'480 * 0.06 / 4));
}

}  // namespace xdc
