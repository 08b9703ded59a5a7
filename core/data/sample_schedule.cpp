// Counts samples without looking at any: ranks of one datacenter have one of two share sizes.
#include "core/data/sample_schedule.hpp"

#include <algorithm>
#include <numeric>

#include "core/base/check.hpp"

namespace xdc {
namespace {

using Datacenter = SampleSchedule::Datacenter;

struct Shares {
  int64_t larger = 0, smaller = 0;  // share sizes
  int64_t with_larger = 0, with_smaller = 0;
};

Shares shares_of(int64_t samples, int ranks) {
  const int64_t smaller = samples / ranks, more = samples % ranks;
  return {smaller + 1, smaller, more, ranks - more};
}

int64_t taken_of(int64_t samples, const Datacenter& one, int64_t steps) {
  const Shares shares = shares_of(samples, one.ranks);
  return shares.with_larger * std::min(shares.larger, steps * one.batch) +
         shares.with_smaller * std::min(shares.smaller, steps * one.batch);
}

}  // namespace

SampleSchedule::SampleSchedule(GoesOn, Deals deals) : deals_(std::move(deals)), first_rank_{0} {
  XDC_CHECK(!deals_.deals.empty() && deals_.deals.front().after_step == deals_.step);
  datacenters_ = deals_.deals.back().datacenters;
  XDC_CHECK(!datacenters_.empty());
  for (const Datacenter& one : datacenters_) {
    XDC_CHECK(one.samples > 0 && one.ranks > 0 && one.batch > 0);
    first_rank_.push_back(first_rank_.back() + one.ranks);
    all_.push_back(one.samples);
  }
  rest_ = all_;
  for (size_t i = 0; i + 1 < deals_.deals.size(); ++i) {
    const auto& [after_step, datacenters] = deals_.deals[i];
    XDC_CHECK(datacenters.size() == all_.size() && deals_.deals[i + 1].after_step >= after_step);
    for (size_t d = 0; d < all_.size(); ++d) rest_[d] -= taken_of(rest_[d], datacenters[d], deals_.deals[i + 1].after_step - after_step);
  }
  samples_per_epoch_ = std::accumulate(all_.begin(), all_.end(), int64_t{0});
  steps_per_epoch_ = steps_for(all_);
  rest_steps_ = steps_for(rest_);
  taken_before_ = deals_.samples + samples_per_epoch_ - std::accumulate(rest_.begin(), rest_.end(), int64_t{0});
}

SampleSchedule::Deals SampleSchedule::dealt_anew(int64_t step, std::vector<Datacenter> datacenters) const {
  XDC_CHECK(step >= begin() && datacenters.size() == datacenters_.size());
  for (size_t d = 0; d < datacenters.size(); ++d) XDC_CHECK(datacenters[d].samples == all_[d]);
  Deals out = deals_;
  if (!takes_rest(step + 1)) {
    // Only the epoch matters in which the next step is.
    const int64_t began = step - step_in_epoch(step + 1);
    out = {began, epoch_of(step + 1), total_until(began), {{began, datacenters_}}};
  }
  // What was dealt and not touched is as if it had never been dealt.
  if (out.deals.back().after_step == step) out.deals.pop_back();
  out.deals.push_back({step, std::move(datacenters)});
  return out;
}

int64_t SampleSchedule::steps_for(const std::vector<int64_t>& samples) const {
  int64_t steps = 0;
  for (size_t d = 0; d < samples.size(); ++d) {
    const int64_t share = part(samples[d], datacenters_[d].ranks, 0).size;
    steps = std::max(steps, (share + datacenters_[d].batch - 1) / datacenters_[d].batch);
  }
  return steps;
}

int64_t SampleSchedule::steps_of_epochs(int64_t epochs) const {
  XDC_CHECK(epochs >= 1);
  const int64_t more = epochs - deals_.epoch - 1;  // behind the one that was dealt anew
  return more < 0 ? begin() : begin() + rest_steps_ + more * steps_per_epoch_;
}

int64_t SampleSchedule::epoch_of(int64_t step) const {
  XDC_CHECK(step > begin());
  return takes_rest(step) ? deals_.epoch : deals_.epoch + 1 + (step - begin() - rest_steps_ - 1) / steps_per_epoch_;
}

int64_t SampleSchedule::step_in_epoch(int64_t step) const {
  XDC_CHECK(step > begin());
  return takes_rest(step) ? step - begin() - 1 : (step - begin() - rest_steps_ - 1) % steps_per_epoch_;
}

int SampleSchedule::samples(int rank, int64_t step) const {
  const int64_t batch = datacenter(datacenter_of(rank)).batch;
  const int64_t left = share_of(rank, step).size - step_in_epoch(step) * batch;
  return static_cast<int>(std::clamp<int64_t>(left, 0, batch));
}

int64_t SampleSchedule::taken(const std::vector<int64_t>& samples, int64_t steps) const {
  int64_t sum = 0;
  for (size_t d = 0; d < samples.size(); ++d) sum += taken_of(samples[d], datacenters_[d], steps);
  return sum;
}

int64_t SampleSchedule::total(int64_t step) const {
  const int64_t at = step_in_epoch(step);
  return taken(dealt_at(step), at + 1) - taken(dealt_at(step), at);
}

int64_t SampleSchedule::total_until(int64_t step) const {
  XDC_CHECK(step >= begin());
  if (takes_rest(step)) return taken_before_ + taken(rest_, step - begin());
  const int64_t behind = step - begin() - rest_steps_;
  return deals_.samples + (1 + behind / steps_per_epoch_) * samples_per_epoch_ + taken(all_, behind % steps_per_epoch_);
}

int64_t SampleSchedule::first_step_reaching(int64_t samples) const {
  XDC_CHECK(samples >= 1);
  if (samples <= taken_before_) return begin();
  const bool in_rest = samples <= deals_.samples + samples_per_epoch_;
  const int64_t behind = samples - deals_.samples - samples_per_epoch_;                          // of the epoch that was dealt anew
  const int64_t whole = in_rest ? 0 : (behind - 1) / samples_per_epoch_;                         // epochs
  const int64_t rest = in_rest ? samples - taken_before_ : behind - whole * samples_per_epoch_;  // 1 .. samples of the epoch
  int64_t low = 1;
  int64_t high = in_rest ? rest_steps_ : steps_per_epoch_;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (taken(in_rest ? rest_ : all_, middle) >= rest) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return begin() + (in_rest ? 0 : rest_steps_ + whole * steps_per_epoch_) + low;
}

int SampleSchedule::datacenter_of(int rank) const {
  XDC_CHECK(0 <= rank && rank < ranks());
  return static_cast<int>(std::ranges::upper_bound(first_rank_, rank) - first_rank_.begin()) - 1;
}

const SampleSchedule::Datacenter& SampleSchedule::datacenter(int index) const {
  XDC_CHECK(0 <= index && static_cast<size_t>(index) < datacenters_.size());
  return datacenters_[static_cast<size_t>(index)];
}

SampleSchedule::Share SampleSchedule::part(int64_t samples, int parts, int index) {
  const Shares shares = shares_of(samples, parts);
  const int64_t larger_before = std::min<int64_t>(index, shares.with_larger);
  return {larger_before * shares.larger + (index - larger_before) * shares.smaller,
          index < shares.with_larger ? shares.larger : shares.smaller};
}

SampleSchedule::Share SampleSchedule::share_of(int rank, int64_t step) const {
  const auto d = static_cast<size_t>(datacenter_of(rank));
  return part(dealt_at(step)[d], datacenters_[d].ranks, rank_in_datacenter(rank));
}

}  // namespace xdc
