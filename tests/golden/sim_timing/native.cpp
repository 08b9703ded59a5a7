// Do native collectives take the time of the ring that they stand for?
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>

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

}  // namespace xdc::contract
