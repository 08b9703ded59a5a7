// Do native collectives take the time of the ring that they stand for?
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>

#include "core/strategies/registry.hpp"
#include "tests/bench/ring/plain_ring.hpp"
#include "tests/contract/world.hpp"

namespace xdc::contract {
namespace {

// When the last member was through with `body`, from the notes of all.
int64_t end_ns(const Setting& setting, const Body& body) {
  int64_t end = 0;
  const auto lines = world().run(setting, [&](Env& env, MemberId me) {
    body(env, me);
    note(std::to_string(env.clock.now().ns));
  });
  REQUIRE(lines.size() == setting.cluster.members.size());
  for (const auto& line : lines) end = std::max<int64_t>(end, std::strtoll(line.c_str(), nullptr, 10));
  return end;
}

}  // namespace

TEST_CASE("native all_reduce agrees with the point-to-point ring within one percent from 1 KB to 1 GB") {
  for (const int n : {2, 4, 7}) {
    auto setting = setting_of({n});
    setting.payload = PayloadKind::phantom;
    const auto view = setting.cluster.everyone(1);
    for (const int64_t bytes : {1'000LL, 30'000LL, 1'000'000LL, 30'000'000LL, 1'000'000'000LL}) {
      const auto ring = end_ns(setting, [&](Env& env, MemberId me) { ring_all_reduce(env, view, me, bytes / 4); });
      const auto native = end_ns(setting, [&](Env& env, MemberId) {
        const auto collectives = env.fabric.native_collectives(view, "native", kNoDeadline).value();
        const auto buffer = env.device.allocate(Space::device, static_cast<size_t>(bytes)).value();
        XDC_EXPECT_OK(collectives->all_reduce(Tensor::flat(buffer->bytes(), DType::f32, bytes / 4), bytes, kNoDeadline));
      });
      INFO(fmt::format("{} ranks, {} bytes: ring {} ns, native {} ns", n, bytes, ring, native));
      CHECK(std::abs(static_cast<double>(native) / static_cast<double>(ring) - 1) <= 0.01);
    }
  }
}

TEST_CASE("a gradient in many buckets takes the time of all of them inside a datacenter") {
  constexpr int64_t kParameters = 256 * 100'000;  // 102 MB: 2 * 3/4 of it at 1.25 GB/s is 123 ms
  auto setting = setting_of({4});
  setting.payload = PayloadKind::phantom;
  std::vector<int64_t> ends;
  for (const int64_t buckets : {1, 20}) {
    StrategyPlan plan{HierarchicalAllReduceSpec{4, Exchange::mesh, false},
                      setting.cluster,
                      plan_buckets(kParameters, kParameters * 4 / buckets),
                      kParameters,
                      {}};
    REQUIRE(plan.buckets.size() == static_cast<size_t>(buckets));
    ends.push_back(end_ns(setting, [&](Env& env, MemberId me) {
      const auto strategy = strategy_of(plan.spec).make_worker(plan, env, me);
      XDC_EXPECT_OK(strategy->connect(plan.cluster.everyone(1), kNoDeadline));
      const auto buffer = env.device.allocate(Space::device, kParameters * 4).value();
      const auto gradient = Tensor::flat(buffer->bytes(), DType::f32, kParameters);
      XDC_EXPECT_OK(strategy->exchange({1, kNoDeadline, {1, 0}, gradient, gradient, [](int) { return ok_status(); }}));
    }));
  }
  CHECK(std::abs(static_cast<double>(ends[0]) / 122.9e6 - 1) < 0.02);
  // Beside the bytes each bucket waits for latency: 6 of 50 us, and to fill and drain the ring, in pieces of 512 KiB.
  CHECK(static_cast<double>(ends[1] - ends[0]) / 19 > 300e3);
  CHECK(static_cast<double>(ends[1] - ends[0]) / 19 < 300e3 + 4 * 524'288 / 1.25);
}

}  // namespace xdc::contract
