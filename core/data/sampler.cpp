// Keeps one epoch's share at hand and cuts batches from it.
#include "core/data/sampler.hpp"

#include <fmt/format.h>

#include <utility>

#include "core/base/check.hpp"
#include "core/base/rng.hpp"

namespace xdc {

Sampler::Sampler(const SampleSchedule& schedule, int rank, std::vector<int32_t> indices, uint64_t seed)
    : schedule_(schedule), rank_(rank), indices_(std::move(indices)), seed_(seed) {
  XDC_CHECK(static_cast<int64_t>(indices_.size()) == schedule_.datacenter(schedule_.datacenter_of(rank)).samples);
}

std::span<const int32_t> Sampler::indices(int64_t step) {
  const int count = schedule_.samples(rank_, step);
  if (count == 0) {
    return {};
  }
  if (const int64_t epoch = schedule_.epoch_of(step); epoch != epoch_) {
    permute(epoch);
  }
  const int64_t batch = schedule_.datacenter(schedule_.datacenter_of(rank_)).batch;
  const auto first = static_cast<size_t>(schedule_.step_in_epoch(step) * batch);
  return std::span<const int32_t>(share_).subspan(first, static_cast<size_t>(count));
}

void Sampler::permute(int64_t epoch) {
  std::vector<int32_t> order = indices_;
  RandomStream stream(seed_, fmt::format("data/permutation/{}", epoch), static_cast<uint32_t>(schedule_.datacenter_of(rank_)));
  stream.shuffle(std::span<int32_t>(order));
  const SampleSchedule::Share share = schedule_.share_of(rank_);
  const auto first = order.begin() + share.first;
  share_.assign(first, first + share.size);
  epoch_ = epoch;
}

}  // namespace xdc
