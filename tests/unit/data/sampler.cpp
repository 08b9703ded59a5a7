// Is every sample taken exactly once an epoch, whatever the shape?
#include "core/data/sampler.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <numeric>

#include "core/base/rng.hpp"

namespace xdc {
namespace {

std::vector<int32_t> list_of(int64_t n, int32_t first) {
  std::vector<int32_t> list(static_cast<size_t>(n));
  std::iota(list.begin(), list.end(), first);
  return list;
}

TEST_CASE("Every sample of every datacenter is taken exactly once an epoch, for many shapes") {
  RandomStream random(3, "test/sampler");
  for (int shape_index = 0; shape_index < 60; ++shape_index) {
    std::vector<SampleSchedule::Datacenter> shape(1 + random.below(4));
    for (auto& one : shape) {
      one = {static_cast<int64_t>(1 + random.below(200)), static_cast<int>(1 + random.below(7)), static_cast<int>(1 + random.below(30))};
    }
    const SampleSchedule schedule(shape);
    std::vector<Sampler> samplers;
    int32_t all = 0;
    for (int rank = 0, d = -1; rank < schedule.ranks(); ++rank) {
      if (schedule.datacenter_of(rank) != d) {
        d = schedule.datacenter_of(rank);
        all += static_cast<int32_t>(shape[static_cast<size_t>(d)].samples);
      }
      const auto samples = static_cast<int32_t>(shape[static_cast<size_t>(d)].samples);
      samplers.emplace_back(schedule, rank, list_of(samples, all - samples), 17);
    }
    for (int64_t epoch = 0; epoch < 3; ++epoch) {
      std::vector<int> taken(static_cast<size_t>(all));
      for (int64_t k = 1; k <= schedule.steps_per_epoch(); ++k) {
        const int64_t step = epoch * schedule.steps_per_epoch() + k;
        for (int rank = 0; rank < schedule.ranks(); ++rank) {
          const auto indices = samplers[static_cast<size_t>(rank)].indices(step);
          REQUIRE(static_cast<int>(indices.size()) == schedule.samples(rank, step));
          for (const int32_t i : indices) {
            ++taken.at(static_cast<size_t>(i));
          }
        }
      }
      REQUIRE(std::ranges::all_of(taken, [](int n) { return n == 1; }));
    }
  }
}

TEST_CASE("However often samples are dealt anew within an epoch, each is taken exactly once in it, and totals agree") {
  RandomStream random(4, "test/dealt_anew");
  int inside_an_epoch = 0;
  for (int shape_index = 0; shape_index < 300; ++shape_index) {
    std::vector<SampleSchedule::Datacenter> shape(1 + random.below(4));
    for (auto& one : shape) one.samples = static_cast<int64_t>(1 + random.below(200));
    const auto cut = [&] {
      for (auto& one : shape) {
        one.ranks = static_cast<int>(1 + random.below(7));
        one.batch = static_cast<int>(1 + random.below(30));
      }
    };
    cut();
    SampleSchedule schedule(shape);
    std::map<int64_t, std::map<int32_t, int>> taken;  // by epoch
    int64_t step = 0, total = 0;
    for (int deal = 0; deal < 4; ++deal) {
      std::vector<Sampler> samplers;
      std::vector<int32_t> first(shape.size());
      for (size_t d = 1; d < shape.size(); ++d) first[d] = first[d - 1] + static_cast<int32_t>(shape[d - 1].samples);
      for (int rank = 0; rank < schedule.ranks(); ++rank) {
        const auto d = static_cast<size_t>(schedule.datacenter_of(rank));
        samplers.emplace_back(schedule, rank, list_of(shape[d].samples, first[d]), 17);
      }
      REQUIRE(schedule.total_until(step) == total);
      // None, some, or more than an epoch; the last deal to the end of an epoch.
      const auto steps = static_cast<int64_t>(random.below(static_cast<uint64_t>(schedule.steps_per_epoch()) * 3 / 2 + 2));
      const int64_t last = deal < 3 ? step + steps : schedule.steps_of_epochs(schedule.epoch_of(step + 1) + 1);
      while (step < last) {
        ++step;
        int64_t sum = 0;
        for (int rank = 0; rank < schedule.ranks(); ++rank) {
          const auto indices = samplers[static_cast<size_t>(rank)].indices(step);
          REQUIRE(static_cast<int>(indices.size()) == schedule.samples(rank, step));
          for (const int32_t i : indices) ++taken[schedule.epoch_of(step)][i];
          sum += static_cast<int64_t>(indices.size());
        }
        REQUIRE(sum > 0);
        REQUIRE(schedule.total(step) == sum);
        REQUIRE(schedule.first_step_reaching(total + 1) == step);
        total += sum;
        REQUIRE(schedule.total_until(step) == total);
        REQUIRE(schedule.first_step_reaching(total) == step);
      }
      if (deal == 3) break;
      cut();
      schedule = SampleSchedule(SampleSchedule::GoesOn{}, schedule.dealt_anew(step, shape));
      inside_an_epoch += schedule.deals().deals.size() > 1 ? 1 : 0;
    }
    for (const auto& [epoch, samples] : taken) {
      REQUIRE(static_cast<int64_t>(samples.size()) == schedule.samples_per_epoch());
      REQUIRE(std::ranges::all_of(samples, [](const auto& one) { return one.second == 1; }));
    }
    REQUIRE(static_cast<int64_t>(taken.size()) == taken.rbegin()->first + 1);
  }
  REQUIRE(inside_an_epoch > 300);
}

TEST_CASE("Samples that are dealt among the same ranks once more, before any is taken, are dealt as before") {
  const SampleSchedule schedule({{100, 3, 7}, {40, 2, 5}});
  CHECK(schedule.dealt_anew(0, {{100, 3, 7}, {40, 2, 5}}) == schedule.deals());
  const auto between = schedule.dealt_anew(2 * schedule.steps_per_epoch(), {{100, 5, 7}, {40, 2, 5}});
  CHECK(between.epoch == 2);
  CHECK(between.samples == 280);
  CHECK(between.deals.size() == 1);
}

TEST_CASE("A step's samples are the same whatever was asked before") {
  const SampleSchedule schedule({{100, 3, 7}});
  Sampler in_order(schedule, 1, list_of(100, 0), 5);
  Sampler jumping(schedule, 1, list_of(100, 0), 5);
  const int64_t last = 3 * schedule.steps_per_epoch();
  std::vector<std::vector<int32_t>> seen;
  for (int64_t step = 1; step <= last; ++step) {
    const auto indices = in_order.indices(step);
    seen.emplace_back(indices.begin(), indices.end());
  }
  for (int64_t step = last; step >= 1; --step) {
    CHECK(std::ranges::equal(jumping.indices(step), seen[static_cast<size_t>(step - 1)]));
  }
}

TEST_CASE("Epochs, datacenters and seeds have permutations of their own") {
  const SampleSchedule schedule({{50, 1, 50}, {50, 1, 50}});
  const auto order = [&](int rank, int64_t step, uint64_t seed) {
    Sampler sampler(schedule, rank, list_of(50, 0), seed);
    const auto indices = sampler.indices(step);
    return std::vector<int32_t>(indices.begin(), indices.end());
  };
  CHECK(order(0, 1, 5) != order(0, 2, 5));
  CHECK(order(0, 1, 5) != order(1, 1, 5));
  CHECK(order(0, 1, 5) != order(0, 1, 6));
  CHECK(order(0, 1, 5) != list_of(50, 0));
}

}  // namespace
}  // namespace xdc
