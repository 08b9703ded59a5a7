// Does every datacenter get as many samples as it was promised, and none twice?
#include "core/data/partition.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>
#include <numeric>

#include "core/base/rng.hpp"

namespace xdc {
namespace {

std::vector<uint8_t> labels_of(size_t n, int classes) {
  std::vector<uint8_t> labels(n);
  for (size_t i = 0; i < n; ++i) {
    labels[i] = static_cast<uint8_t>(i % static_cast<size_t>(classes));
  }
  return labels;
}

DataSpec spec_of(std::vector<int64_t> samples, double alpha = 0) {
  DataSpec spec;
  spec.partition = alpha == 0 ? PartitionKind::uniform : PartitionKind::dirichlet;
  spec.alpha = alpha;
  spec.samples_per_datacenter = std::move(samples);
  return spec;
}

void check_deal(const DataSpec& spec, const std::vector<std::vector<int32_t>>& shares, size_t there) {
  std::vector<int> owners(there);
  REQUIRE(shares.size() == spec.samples_per_datacenter.size());
  for (size_t d = 0; d < shares.size(); ++d) {
    REQUIRE(static_cast<int64_t>(shares[d].size()) == spec.samples_per_datacenter[d]);
    REQUIRE(std::ranges::is_sorted(shares[d]));
    for (const int32_t i : shares[d]) {
      ++owners.at(static_cast<size_t>(i));
    }
  }
  REQUIRE(std::ranges::all_of(owners, [](int n) { return n <= 1; }));
}

TEST_CASE("Shares are disjoint and of the sizes asked for, whatever the skew") {
  RandomStream random(4, "test/partition");
  for (const double alpha : {0.0, 1e-9, 0.01, 0.5, 10.0, 1e6}) {
    for (int shape = 0; shape < 40; ++shape) {
      const size_t there = 1 + random.below(500);
      const auto labels = labels_of(there, static_cast<int>(1 + random.below(12)));
      std::vector<int64_t> sizes;
      auto left = static_cast<int64_t>(there);
      while (left > 0 && sizes.size() < 5) {
        // The last datacenter sometimes takes all that is left.
        const int64_t n = random.below(4) == 0 ? left : 1 + static_cast<int64_t>(random.below(static_cast<uint64_t>(left)));
        sizes.push_back(n);
        left -= n;
      }
      const DataSpec spec = spec_of(sizes, alpha);
      const auto shares = partition_samples(spec, labels, random.next_u64());
      REQUIRE(shares.ok());
      check_deal(spec, shares.value(), there);
    }
  }
}

// The greatest part that one label has of a datacenter's samples.
double skew_of(const std::vector<int32_t>& share, const std::vector<uint8_t>& labels) {
  std::vector<double> counts(256);
  for (const int32_t i : share) {
    ++counts[labels[static_cast<size_t>(i)]];
  }
  return *std::ranges::max_element(counts) / static_cast<double>(share.size());
}

TEST_CASE("A small alpha gives a datacenter few labels, a large one all alike") {
  const auto labels = labels_of(60'000, 10);
  const auto deal = [&](double alpha) { return partition_samples(spec_of({4000, 4000, 4000}, alpha), labels, 7).value(); };
  for (const auto& share : deal(0.02)) {
    CHECK(skew_of(share, labels) > 0.5);
  }
  for (const auto& share : deal(1e5)) {
    CHECK(skew_of(share, labels) < 0.11);
  }
  const auto uniform = partition_samples(spec_of({4000, 4000, 4000}), labels, 7).value();
  CHECK(skew_of(uniform[0], labels) < 0.13);
}

TEST_CASE("The seed alone decides the deal") {
  const auto labels = labels_of(1000, 10);
  for (const double alpha : {0.0, 0.5}) {
    const DataSpec spec = spec_of({300, 400}, alpha);
    CHECK(partition_samples(spec, labels, 7).value() == partition_samples(spec, labels, 7).value());
    CHECK(partition_samples(spec, labels, 7).value() != partition_samples(spec, labels, 8).value());
  }
}

TEST_CASE("A deal that cannot be made says why") {
  const auto labels = labels_of(100, 10);
  const auto message = [&](const DataSpec& spec) {
    const auto shares = partition_samples(spec, labels, 1);
    REQUIRE(!shares.ok());
    CHECK(shares.error().code == ErrorCode::invalid);
    return shares.error().message;
  };
  CHECK_THAT(message(spec_of({60, 41})), Catch::Contains("101 samples (60 + 41), the data has 100"));
  CHECK_THAT(message(spec_of({60, 0})), Catch::Contains("datacenter 1 is to have 0 samples"));
  CHECK_THAT(message(spec_of({std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::max()})), Catch::Contains("datacenter 0"));
  CHECK_THAT(message(spec_of({})), Catch::Contains("no datacenter"));
  CHECK_THAT(message(spec_of({10}, -1.0)), Catch::Contains("alpha is -1"));
  CHECK_THAT(message(spec_of({10}, std::numeric_limits<double>::quiet_NaN())), Catch::Contains("alpha"));
}

}  // namespace
}  // namespace xdc
