// Deals samples to datacenters.
#include "core/data/partition.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/base/check.hpp"
#include "core/base/rng.hpp"

namespace xdc {
namespace {

constexpr size_t kLabels = 256;
using Amounts = std::vector<int64_t>;

// `total` in whole parts by `weights` (at least one > 0): floors first, then one each to the largest remainders, ties to the
// lower index.
Amounts apportion(int64_t total, const std::vector<double>& weights) {
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  XDC_CHECK(sum > 0);
  Amounts parts(weights.size());
  std::vector<double> remainders(weights.size());
  int64_t left = total;
  for (size_t i = 0; i < weights.size(); ++i) {
    const double share = static_cast<double>(total) * (weights[i] / sum);
    parts[i] = std::min(static_cast<int64_t>(std::floor(share)), left);
    remainders[i] = share - static_cast<double>(parts[i]);
    left -= parts[i];
  }
  std::vector<size_t> order;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] > 0) {
      order.push_back(i);
    }
  }
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return remainders[a] > remainders[b]; });
  for (size_t i = 0; left > 0; ++i, --left) {
    ++parts[order[i % order.size()]];
  }
  return parts;
}

std::vector<double> draw_proportions(double alpha, size_t labels, uint64_t seed, size_t datacenter) {
  RandomStream stream(seed, "data/partition/proportions", static_cast<uint32_t>(datacenter));
  std::vector<double> p(labels);
  std::ranges::generate(p, [&] { return stream.gamma(alpha); });
  if (std::accumulate(p.begin(), p.end(), 0.0) <= 0) {
    p[stream.below(labels)] = 1.0;  // alpha so small that every draw is below the least double: one label has it all
  }
  return p;
}

class DirichletDeal {
 public:
  DirichletDeal(const DataSpec& spec, const Amounts& supply, uint64_t seed) : supply_(supply), wanted_(spec.samples_per_datacenter) {
    for (size_t d = 0; d < wanted_.size(); ++d) {
      proportions_.push_back(draw_proportions(spec.alpha, supply_.size(), seed, d));
      dealt_.emplace_back(supply_.size());
    }
  }

  // dealt[datacenter][label]. Each pass but the last one exhausts a label, so there are at most labels + 1.
  std::vector<Amounts> deal() {
    while (std::ranges::any_of(wanted_, [](int64_t n) { return n > 0; })) {
      pass();
    }
    return dealt_;
  }

 private:
  void pass() {
    std::vector<Amounts> asked(wanted_.size(), Amounts(supply_.size()));
    for (size_t d = 0; d < wanted_.size(); ++d) {
      if (wanted_[d] > 0) {
        asked[d] = apportion(wanted_[d], weights_of(d));
      }
    }
    for (size_t label = 0; label < supply_.size(); ++label) {
      grant(label, asked);
    }
  }

  std::vector<double> weights_of(size_t d) const {
    std::vector<double> weights(supply_.size());
    double sum = 0;
    for (size_t label = 0; label < weights.size(); ++label) {
      weights[label] = supply_[label] > 0 ? proportions_[d][label] : 0.0;
      sum += weights[label];
    }
    if (sum <= 0) {  // none of its own labels is left
      std::ranges::transform(supply_, weights.begin(), [](int64_t n) { return static_cast<double>(n); });
    }
    return weights;
  }

  void grant(size_t label, const std::vector<Amounts>& asked) {
    std::vector<double> demand(asked.size());
    std::ranges::transform(asked, demand.begin(), [&](const Amounts& one) { return static_cast<double>(one[label]); });
    int64_t sum = 0;
    for (const Amounts& one : asked) {
      sum += one[label];
    }
    if (sum == 0) {
      return;
    }
    const Amounts granted = apportion(std::min(sum, supply_[label]), demand);
    for (size_t d = 0; d < asked.size(); ++d) {
      dealt_[d][label] += granted[d];
      wanted_[d] -= granted[d];
      supply_[label] -= granted[d];
    }
  }

  Amounts supply_, wanted_;
  std::vector<std::vector<double>> proportions_;
  std::vector<Amounts> dealt_;
};

Status check(const DataSpec& spec, size_t there) {
  const auto invalid = [](std::string why) { return Error{ErrorCode::invalid, std::move(why)}; };
  if (spec.samples_per_datacenter.empty()) {
    return invalid("no datacenter to deal samples to");
  }
  int64_t sum = 0;
  for (size_t d = 0; d < spec.samples_per_datacenter.size(); ++d) {
    const int64_t n = spec.samples_per_datacenter[d];
    if (n < 1 || n > std::numeric_limits<int32_t>::max()) {
      return invalid(fmt::format("datacenter {} is to have {} samples; at least 1", d, n));
    }
    sum += n;
  }
  if (sum > static_cast<int64_t>(there)) {
    return invalid(fmt::format("the datacenters are to have {} samples ({}), the data has {}", sum,
                               fmt::join(spec.samples_per_datacenter, " + "), there));
  }
  if (spec.partition == PartitionKind::dirichlet && !(spec.alpha > 0 && std::isfinite(spec.alpha))) {
    return invalid(fmt::format("alpha is {}; it must be greater than 0", spec.alpha));
  }
  return ok_status();
}

std::vector<int32_t> shuffled(std::vector<int32_t> items, uint64_t seed, size_t label) {
  RandomStream stream(seed, "data/partition/deal", static_cast<uint32_t>(label));
  stream.shuffle(std::span<int32_t>(items));
  return items;
}

}  // namespace

Result<std::vector<std::vector<int32_t>>> partition_samples(const DataSpec& spec, std::span<const uint8_t> labels, uint64_t seed) {
  XDC_TRY(check(spec, labels.size()));
  // Uniform is the deal of one pile; dirichlet has a pile for each label.
  const bool by_label = spec.partition == PartitionKind::dirichlet;
  std::vector<std::vector<int32_t>> piles(by_label ? kLabels : 1);
  for (size_t i = 0; i < labels.size(); ++i) {
    piles[by_label ? labels[i] : 0].push_back(static_cast<int32_t>(i));
  }
  while (piles.back().empty()) {
    piles.pop_back();  // there are only as many classes as labels occur
  }
  Amounts supply(piles.size());
  std::ranges::transform(piles, supply.begin(), [](const auto& pile) { return static_cast<int64_t>(pile.size()); });
  std::vector<Amounts> dealt;
  if (by_label) {
    dealt = DirichletDeal(spec, supply, seed).deal();
  } else {
    for (const int64_t n : spec.samples_per_datacenter) {
      dealt.push_back({n});
    }
  }
  std::vector<std::vector<int32_t>> shares(dealt.size());
  for (size_t label = 0; label < piles.size(); ++label) {
    const std::vector<int32_t> pile = shuffled(std::move(piles[label]), seed, label);
    auto next = pile.begin();
    for (size_t d = 0; d < dealt.size(); ++d) {
      const auto end = next + dealt[d][label];
      shares[d].insert(shares[d].end(), next, end);
      next = end;
    }
  }
  for (auto& share : shares) {
    std::ranges::sort(share);
  }
  return shares;
}

}  // namespace xdc
