// Keeps one epoch's share at hand and cuts batches from it.
#include "core/data/sampler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/base/check.hpp"
#include "core/base/rng.hpp"

namespace xdc {
namespace {

// What the ranks have not taken after so many steps, in its order.
std::vector<int32_t> left_of(const std::vector<int32_t>& order, const SampleSchedule::Datacenter& dealt, int64_t steps) {
  std::vector<int32_t> left;
  for (int rank = 0; rank < dealt.ranks; ++rank) {
    const auto share = SampleSchedule::part(static_cast<int64_t>(order.size()), dealt.ranks, rank);
    const auto begin = order.begin() + share.first;
    left.insert(left.end(), begin + std::min(share.size, steps * dealt.batch), begin + share.size);
  }
  return left;
}

}  // namespace

Sampler::Sampler(const SampleSchedule& schedule, int rank, std::vector<int32_t> indices, uint64_t seed)
    : schedule_(schedule), rank_(rank), indices_(std::move(indices)), seed_(seed) {
  XDC_CHECK(static_cast<int64_t>(indices_.size()) == schedule_.datacenter(schedule_.datacenter_of(rank)).samples);
}

std::span<const int32_t> Sampler::indices(int64_t step) {
  const int count = schedule_.samples(rank_, step);
  if (count == 0) {
    return {};
  }
  if (schedule_.epoch_of(step) != epoch_) {
    permute(step);
  }
  const int64_t batch = schedule_.datacenter(schedule_.datacenter_of(rank_)).batch;
  const auto first = static_cast<size_t>(schedule_.step_in_epoch(step) * batch);
  return std::span<const int32_t>(share_).subspan(first, static_cast<size_t>(count));
}

void Sampler::permute(int64_t step) {
  epoch_ = schedule_.epoch_of(step);
  const int datacenter = schedule_.datacenter_of(rank_);
  std::vector<int32_t> order = indices_;
  RandomStream stream(seed_, fmt::format("data/permutation/{}", epoch_), static_cast<uint32_t>(datacenter));
  stream.shuffle(std::span<int32_t>(order));
  const auto& deals = schedule_.deals().deals;
  for (size_t i = 0; schedule_.takes_rest(step) && i + 1 < deals.size(); ++i) {
    order = left_of(order, deals[i].datacenters[static_cast<size_t>(datacenter)], deals[i + 1].after_step - deals[i].after_step);
  }
  const SampleSchedule::Share share = schedule_.share_of(rank_, step);
  const auto first = order.begin() + share.first;
  share_.assign(first, first + share.size);
}

}  // namespace xdc
