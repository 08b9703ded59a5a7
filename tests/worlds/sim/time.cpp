// Is virtual time exact, and is the time of native collectives the one in the books?
#include <catch2/catch.hpp>
#include <cmath>

#include "core/base/rng.hpp"
#include "sim/agenda.hpp"
#include "sim/ring_time.hpp"
#include "tests/contract/world.hpp"

namespace xdc::contract {

TEST_CASE("a nanosecond survives the way to seconds and back up to the horizon") {
  RandomStream draws(1, "nanoseconds");
  for (int i = 0; i < 1'000'000; ++i) {
    const auto ns = static_cast<int64_t>(draws.below(static_cast<uint64_t>(kHorizon.ns)));
    const double seconds = Agenda::seconds_of({ns});
    REQUIRE(static_cast<int64_t>(std::floor(seconds * 1e9 + 0.5)) == ns);
  }
}

TEST_CASE("sleeps of any length end at their nanosecond") {
  hold(setting_of({1}), [](Env& env, MemberId) {
    RandomStream draws(2, "sleeps");
    for (int i = 0; i < 3'000; ++i) {
      const auto length = draws.below(uint64_t{1} << draws.below(40));
      const auto target = env.clock.now() + nanoseconds(static_cast<int64_t>(length));
      env.clock.sleep_until(target);
      XDC_EXPECT(env.clock.now() == target);
    }
  });
}

TEST_CASE("many lanes that sleep to the same times wake at them") {
  hold(setting_of({3}), [](Env& env, MemberId me) {
    std::vector<std::unique_ptr<Lane>> lanes;
    for (int lane = 0; lane < 5; ++lane) {
      lanes.push_back(env.lanes.spawn("sleeper", [&env, lane, me] {
        for (int i = 1; i <= 50; ++i) {
          const TimePoint target{int64_t{i} * (lane + 1) * (me + 1) * 333'333'333};
          env.clock.sleep_until(target);
          XDC_EXPECT(env.clock.now() == target);
        }
      }));
    }
    for (const auto& lane : lanes) lane->join();
  });
}

TEST_CASE("a phase over equal lines and even parts takes n-1 times latency and part") {
  const double rate = 25e9;
  const Duration latency{5'000};
  for (const int n : {2, 3, 8, 256}) {
    for (const double bytes : {1'024.0 * n, 1e6 * n, 1e9}) {
      const std::vector<LineSpec> lines(static_cast<size_t>(n), LineSpec{rate, latency});
      const std::vector<double> parts(static_cast<size_t>(n), bytes / n);
      const double expected = (n - 1) * ((bytes / n + 32) / rate + 5e-6);
      CHECK(to_seconds(ring_phase_time(lines, parts)) == Approx(expected).epsilon(1e-6).margin(1e-9));
    }
  }
}

TEST_CASE("uneven parts: a small one goes round whole, a big one piece by piece") {
  const std::vector<LineSpec> lines(4, LineSpec{1e9, Duration{1'000}});
  // One block, owned by one rank: three hops, one after another.
  const std::vector<double> block{1'024, 0, 0, 0};
  CHECK(ring_phase_time(lines, block).ns == 3 * (1'024 + 32) + 3'000);
  // Everything owned by one rank (the leader form): bandwidth-bound, not three times that.
  const std::vector<double> leader{0, 1e9, 0, 0};
  CHECK(to_seconds(ring_phase_time(lines, leader)) == Approx(1 + 2 * 512 * 1024 / 1e9).epsilon(1e-4));
}

TEST_CASE("the slowest line of a ring governs, and a lone rank takes no time") {
  std::vector<LineSpec> lines(4, LineSpec{10e9, Duration{1'000}});
  lines[1] = lines[3] = {1e9, Duration{10'000}};
  const std::vector<double> parts(4, 250e6);
  CHECK(to_seconds(ring_phase_time(lines, parts)) == Approx(0.75 + 21e-6).epsilon(1e-4));
  CHECK(ring_phase_time({}, std::vector<double>{1e9}).ns == 0);
  CHECK(ring_broadcast_time({}, 1e9).ns == 0);
  CHECK(to_seconds(ring_broadcast_time(std::vector<LineSpec>(2, LineSpec{1e9, Duration{500}}), 1e9)) == Approx(1.0000005));
}

}  // namespace xdc::contract
