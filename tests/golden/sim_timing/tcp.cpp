// What does TCP add to a message between datacenters? Each term on its own, worked out by hand to the nanosecond, then together.
//
// With packets of 1500 bytes a segment has 1448 bytes of the stream and takes 1538 of the line; a message of n bytes up to 1 MB is
// n + 70 bytes of the stream.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>

#include "tests/bench/ring/plain_ring.hpp"
#include "tests/golden/sim_timing/shots.hpp"

namespace xdc::contract {
namespace {

constexpr int64_t kSegments1000 = 1'447'905;  // and 95 bytes of framing: 1000 whole segments
constexpr int64_t kUnlimited = int64_t{1} << 50;

// So short a line that the first window fills it: no ramp. 1538000 bytes are 12.304 ms.
Setting short_line(std::vector<int> members) {
  auto setting = setting_of(std::move(members));
  setting.topology.network = NetworkModel::tcp;
  for (auto& link : setting.topology.links) {
    link.line.latency = {50'000};
    link.window_bytes = kUnlimited;
  }
  return setting;
}

Setting long_line(std::vector<int> members) {
  auto setting = short_line(std::move(members));
  for (auto& link : setting.topology.links) link.line.latency = milliseconds(15);
  return setting;
}

// A line whose streams have 10 segments under way at most, which is also their first window: 1000 segments take 100 round trips.
Setting narrow_window(std::vector<int> members) {
  auto setting = long_line(std::move(members));
  for (auto& link : setting.topology.links) link.window_bytes = 14'480;
  return setting;
}

// When the last member was through with `body`.
int64_t end_ns(const Setting& setting, const Body& body) {
  int64_t end = 0;
  for (const auto& line : world().run(setting, [&](Env&env, MemberId me) {
         body(env, me);
         note(std::to_string(env.clock.now().ns));
       })) {
    end = std::max<int64_t>(end, std::strtoll(line.c_str(), nullptr, 10));
  }
  return end;
}

}  // namespace

TEST_CASE("a message takes its headers on the line too, and says so in what it counts") {
  const auto setting = short_line({1, 1});
  hold(setting, [view = setting.cluster.everyone(1)](Env& env, MemberId me) {
    const auto communicator = connect(env, view);
    if (me == 1) {
      EXPECT_AT(arrival(env, *communicator, 0), 12'354'000);
      return;
    }
    EXPECT_AT(finish_time(env, *communicator, send(*communicator, 1, kSegments1000)), 12'304'000);
    const auto counts = env.fabric.traffic();
    XDC_REQUIRE(counts.size() == 1);
    XDC_EXPECT(counts[0].payload_bytes == kSegments1000);
    XDC_EXPECT(counts[0].wire_bytes == 1'538'000);
  });
}

TEST_CASE("inside a datacenter nothing is added") {
  auto setting = short_line({2, 1});
  shoot(setting, {{0, 1, 1'249'968, 1'050'000}});
}

TEST_CASE("larger packets have fewer headers") {
  auto setting = short_line({1, 1});
  setting.topology.links[0].mtu = 9000;
  // 1448000 bytes of the stream in 162 segments.
  shoot(setting, {{0, 1, kSegments1000, (1'448'000 + 162 * 90) * 8 + 50'000}});
}

TEST_CASE("a window caps a stream at window over round trip, and parallel streams add up") {
  auto setting = narrow_window({1, 1});
  shoot(setting, {{0, 1, kSegments1000, 3'015'000'000}});
  setting.topology.links[0].streams = 4;
  shoot(setting, {{0, 1, kSegments1000, 765'000'000}});
}

TEST_CASE("a cold connection ramps up once, and again when it was idle for longer than its retransmission time-out") {
  const auto setting = long_line({1, 1});
  hold(setting, [view = setting.cluster.everyone(1)](Env& env, MemberId me) {
    // 500 segments of 1538 bytes need windows of 10 to 160 segments and part of the next: five waits of 30 ms less the
    // sending of 10 (2^5 - 1) segments.
    constexpr int64_t kBytes = 723'914, kSending = 500 * 1538 * 8, kRamp = 5 * 30'000'000 - 310 * 1538 * 8;
    const auto communicator = connect(env, view);
    if (me == 1) {
      EXPECT_AT(arrival(env, *communicator, 0), kRamp + kSending + 15'000'000);
      arrival(env, *communicator, 0);
      arrival(env, *communicator, 0);
      return;
    }
    finish_time(env, *communicator, send(*communicator, 1, kBytes));
    const auto sent = env.clock.now();
    EXPECT_AT(sent, kRamp + kSending);
    // The sixth window has 320 segments, of which 190 are sent. 230 ms later all is acknowledged: 510, enough for a message of 500.
    env.clock.sleep_until(sent + milliseconds(230));
    finish_time(env, *communicator, send(*communicator, 1, kBytes));
    EXPECT_AT(env.clock.now(), sent.ns + 230'000'000 + kSending);
    const auto again = env.clock.now();
    env.clock.sleep_until(again + nanoseconds(230'000'001));
    finish_time(env, *communicator, send(*communicator, 1, kBytes));
    EXPECT_AT(env.clock.now(), again.ns + 230'000'001 + kRamp + kSending);
  });
}

TEST_CASE("with bbr a connection ramps up the first time only") {
  auto setting = long_line({1, 1});
  setting.topology.links[0].congestion = Congestion::bbr;
  hold(setting, [view = setting.cluster.everyone(1)](Env& env, MemberId me) {
    const auto communicator = connect(env, view);
    if (me == 1) {
      env.clock.sleep_until(TimePoint{20'000'000'000});
      return;
    }
    // To full speed: eight waits, the eighth window of 1280 segments.
    finish_time(env, *communicator, send(*communicator, 1, 10'000'000));
    env.clock.sleep_until(TimePoint{10'000'000'000});
    finish_time(env, *communicator, send(*communicator, 1, kSegments1000));
    EXPECT_AT(env.clock.now(), 10'012'304'000);
  });
}

TEST_CASE("every purpose has a connection of its own that starts cold") {
  const auto setting = long_line({1, 1});
  hold(setting, [view = setting.cluster.everyone(1)](Env& env, MemberId me) {
    const auto one = connect(env, view, "one");
    const auto two = connect(env, view, "two");
    for (auto* communicator : {one.get(), two.get()}) {
      const auto began = env.clock.now().ns;
      if (me == 0) {
        EXPECT_AT(finish_time(env, *communicator, send(*communicator, 1, 28'874)), began + 30'000'000 - 123'040 + 246'080);
      } else {
        arrival(env, *communicator, 0);
      }
      env.clock.sleep_until(TimePoint{began + 100'000'000});
    }
  });
}

TEST_CASE("a capped flow leaves the rest of a shared uplink to another") {
  auto setting = short_line({2, 1, 1});
  auto& topology = setting.topology;
  topology.datacenters[0].uplink = LineSpec{kGigabit, {}};
  // 0 -> dc1 has 10 segments each 1 ms: 15.38 MB/s. 1 -> dc2 has what is left of 125 MB/s.
  topology.links[0].line = {kGigabit, {500'000}};
  topology.links[0].window_bytes = 14'480;
  topology.links[2].line.latency = milliseconds(1);  // no way around
  shoot(setting, {{0, 2, kSegments1000, 100'500'000}, {1, 3, kSegments1000, std::llround(1'538'000 / 109.62e6 * 1e9) + 50'000}});
}

TEST_CASE("two capped flows on one line do not slow each other down until the line is full, and then share it evenly") {
  auto setting = narrow_window({2, 2});
  auto& link = setting.topology.links[0];
  link.line.bandwidth = 1.1e6;  // a flow may have 512666 bytes a second
  shoot(setting, {{0, 2, kSegments1000, 3'015'000'000}, {1, 3, kSegments1000, 3'015'000'000}});
  link.line.bandwidth = 0.769e6;  // both together have this, one alone two thirds of it
  shoot(setting, {{0, 2, kSegments1000, 4'015'000'000}, {1, 3, kSegments1000, 4'015'000'000}});
}

TEST_CASE("a route over a third datacenter has the sum of the latencies, the smallest packets and the least rate") {
  auto setting = short_line({1, 1, 1});
  auto& links = setting.topology.links;  // 0-1, 0-2, 1-2
  links.erase(links.begin() + 1);
  links[0].line = {kGigabit, milliseconds(5)};
  links[0].window_bytes = 14'480;
  links[1].line = {2 * kGigabit, milliseconds(10)};
  links[1].mtu = 9000;
  shoot(setting, {{0, 2, kSegments1000, 3'015'000'000}});
  // Transit contends with what the third datacenter sends itself, whose window there is 10 segments of 9038 bytes each 20 ms.
  links[1].window_bytes = 89'480;
  links[1].line.bandwidth = 0.6e6;
  shoot(setting, {{0, 2, kSegments1000, std::llround(1'538'000 / 0.3e6 * 1e9) + 15'000'000},
                  {1, 2, 4'000'000, std::llround((1'538'000 / 0.3e6 + (4'000'190 + 448 * 90 - 1'538'000) / 0.6e6) * 1e9) + 10'000'000}});
}

TEST_CASE("random loss costs what is sent again, and cubic its window") {
  auto setting = short_line({1, 1});
  auto& link = setting.topology.links[0];
  link.loss = 0.01;
  link.congestion = Congestion::bbr;
  const auto wire = static_cast<int64_t>(std::ceil(1'538'000 / 0.99));
  shoot(setting, {{0, 1, kSegments1000, wire * 8 + 50'000}});
  // sqrt(1.5 / p) = 12.247 segments; 15 ms make cubic's own formula give less. The first window is 10.
  link.congestion = Congestion::cubic;
  link.line.latency = milliseconds(15);
  const double rate = std::sqrt(150.0) * 1538 / 0.03;
  const auto ramp = 30'000'000 - std::llround(15'380 / rate * 1e9);
  shoot(setting, {{0, 1, kSegments1000, ramp + std::llround(static_cast<double>(wire) / rate * 1e9) + 15'000'000}});
}

TEST_CASE("a sender that gives up while its connection ramps up sends nothing more") {
  const auto setting = long_line({2, 2});
  hold(setting, [view = setting.cluster.everyone(1)](Env& env, MemberId me) {
    const auto communicator = connect(env, view);
    if (me == 0) {
      const auto work = send(*communicator, 2, 100'000'000);
      env.clock.sleep_until(TimePoint{1'000'000});  // it would send from 208 ms on
      communicator->abort({ErrorCode::aborted, "gives up"});
      env.clock.sleep_until(TimePoint{400'000'000});
    } else if (me == 1) {
      env.clock.sleep_until(TimePoint{300'000'000});
      finish_time(env, *communicator, send(*communicator, 3, 14'394));
      EXPECT_AT(env.clock.now(), 300'123'040);
    } else {
      env.clock.sleep_until(TimePoint{1'000'000'000});
    }
  });
}

TEST_CASE("a plain ring over four datacenters takes the time of the books, and over TCP a little more") {
  auto setting = setting_of({1, 1, 1, 1});
  setting.payload = PayloadKind::phantom;
  const auto view = setting.cluster.everyone(1);
  const int64_t bytes = 100'000'000;
  const auto body = [&](Env& env, MemberId me) { ring_all_reduce(env, view, me, bytes / 4); };
  const double expected = 2.0 * 3 / 4 * bytes / kGigabit + 2.0 * 3 * 0.015;
  const double plain = static_cast<double>(end_ns(setting, body)) * 1e-9;
  CHECK(plain == Approx(expected).epsilon(1e-3));
  setting.topology.network = NetworkModel::tcp;
  for (auto& link : setting.topology.links) link.streams = 4;
  const double tcp = static_cast<double>(end_ns(setting, body)) * 1e-9;
  // Headers on every byte; one ramp of windows 40 to 1280 segments on each connection; 25 MB a message, without a pause between.
  const double ramp = 6 * 0.03 - 63 * 40 * 1538 / kGigabit;
  CHECK(tcp == Approx(2.0 * 3 / 4 * bytes * 1538 / 1448 / kGigabit + 2.0 * 3 * 0.015 + ramp).epsilon(1e-3));
}

}  // namespace xdc::contract
