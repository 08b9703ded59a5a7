// Do the counts agree with counting by hand, for many shapes?
#include "core/data/sample_schedule.hpp"

#include <catch2/catch.hpp>

#include "core/base/rng.hpp"

namespace xdc {
namespace {

using Datacenters = std::vector<SampleSchedule::Datacenter>;

Datacenters random_shape(RandomStream& random) {
  Datacenters shape(1 + random.below(4));
  for (auto& one : shape) {
    one.samples = static_cast<int64_t>(1 + random.below(300));
    one.ranks = static_cast<int>(1 + random.below(9));
    one.batch = static_cast<int>(1 + random.below(40));
  }
  return shape;
}

TEST_CASE("Shares of a datacenter follow each other, differ by one at most and make up the whole") {
  RandomStream random(1, "test/shares");
  for (int shape_index = 0; shape_index < 200; ++shape_index) {
    const Datacenters shape = random_shape(random);
    const SampleSchedule schedule(shape);
    int rank = 0;
    for (size_t d = 0; d < shape.size(); ++d) {
      int64_t next = 0;
      for (int local = 0; local < shape[d].ranks; ++local, ++rank) {
        REQUIRE(schedule.datacenter_of(rank) == static_cast<int>(d));
        const auto share = schedule.share_of(rank, 1);
        REQUIRE(share.first == next);
        REQUIRE(share.size >= shape[d].samples / shape[d].ranks);
        REQUIRE(share.size <= shape[d].samples / shape[d].ranks + 1);
        next += share.size;
      }
      REQUIRE(next == shape[d].samples);
    }
    REQUIRE(rank == schedule.ranks());
  }
}

TEST_CASE("Totals are the sums over ranks, every step has samples, and every epoch has all of them") {
  RandomStream random(2, "test/totals");
  for (int shape_index = 0; shape_index < 200; ++shape_index) {
    const Datacenters shape = random_shape(random);
    const SampleSchedule schedule(shape);
    int64_t cumulative = 0;
    REQUIRE(schedule.total_until(0) == 0);
    for (int64_t step = 1; step <= 2 * schedule.steps_per_epoch() + 1; ++step) {
      int64_t sum = 0;
      for (int rank = 0; rank < schedule.ranks(); ++rank) {
        const int n = schedule.samples(rank, step);
        REQUIRE(n >= 0);
        REQUIRE(n <= schedule.datacenter(schedule.datacenter_of(rank)).batch);
        sum += n;
      }
      REQUIRE(sum > 0);
      REQUIRE(schedule.total(step) == sum);
      const int64_t before = cumulative;
      cumulative += sum;
      REQUIRE(schedule.total_until(step) == cumulative);
      REQUIRE(schedule.first_step_reaching(cumulative) == step);
      REQUIRE(schedule.first_step_reaching(before + 1) == step);
    }
    REQUIRE(schedule.total_until(schedule.steps_per_epoch()) == schedule.samples_per_epoch());
  }
}

TEST_CASE("A datacenter that runs out first waits with nothing until all have run out") {
  const SampleSchedule schedule({{10, 2, 4}, {9, 1, 3}});
  CHECK(schedule.steps_per_epoch() == 3);
  CHECK(schedule.samples(0, 1) == 4);
  CHECK(schedule.samples(0, 2) == 1);
  CHECK(schedule.samples(0, 3) == 0);
  CHECK(schedule.samples(2, 3) == 3);
  CHECK(schedule.total(3) == 3);
  CHECK(schedule.samples(0, 4) == 4);
  CHECK(schedule.epoch_of(3) == 0);
  CHECK(schedule.epoch_of(4) == 1);
  CHECK(schedule.step_in_epoch(4) == 0);
}

TEST_CASE("More ranks than samples leaves the last ranks without any") {
  const SampleSchedule schedule({{2, 5, 8}});
  CHECK(schedule.samples(0, 1) == 1);
  CHECK(schedule.samples(1, 1) == 1);
  CHECK(schedule.samples(2, 1) == 0);
  CHECK(schedule.steps_per_epoch() == 1);
}

}  // namespace
}  // namespace xdc
