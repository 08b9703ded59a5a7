// Counts samples without looking at any: ranks of one datacenter have one of two share sizes.
#include "core/data/sample_schedule.hpp"

#include <algorithm>
#include <utility>

#include "core/base/check.hpp"

namespace xdc {

SampleSchedule::SampleSchedule(std::vector<Datacenter> datacenters) : datacenters_(std::move(datacenters)), first_rank_{0} {
  XDC_CHECK(!datacenters_.empty());
  for (const Datacenter& one : datacenters_) {
    XDC_CHECK(one.samples > 0 && one.ranks > 0 && one.batch > 0);
    first_rank_.push_back(first_rank_.back() + one.ranks);
    samples_per_epoch_ += one.samples;
    const int64_t share = shares_of(one).larger > 0 ? shares_of(one).larger : shares_of(one).smaller;
    steps_per_epoch_ = std::max(steps_per_epoch_, (share + one.batch - 1) / one.batch);
  }
}

SampleSchedule::Shares SampleSchedule::shares_of(const Datacenter& datacenter) const {
  const int64_t smaller = datacenter.samples / datacenter.ranks;
  const auto more = static_cast<int>(datacenter.samples % datacenter.ranks);
  return {more > 0 ? smaller + 1 : 0, smaller, more, datacenter.ranks - more};
}

int64_t SampleSchedule::epoch_of(int64_t step) const {
  XDC_CHECK(step >= 1);
  return (step - 1) / steps_per_epoch_;
}

int64_t SampleSchedule::step_in_epoch(int64_t step) const {
  XDC_CHECK(step >= 1);
  return (step - 1) % steps_per_epoch_;
}

int SampleSchedule::samples(int rank, int64_t step) const {
  const int64_t batch = datacenter(datacenter_of(rank)).batch;
  const int64_t left = share_of(rank).size - step_in_epoch(step) * batch;
  return static_cast<int>(std::clamp<int64_t>(left, 0, batch));
}

int64_t SampleSchedule::taken_in_epoch(int64_t steps) const {
  int64_t taken = 0;
  for (const Datacenter& one : datacenters_) {
    const Shares shares = shares_of(one);
    taken += shares.with_larger * std::min(shares.larger, steps * one.batch);
    taken += shares.with_smaller * std::min(shares.smaller, steps * one.batch);
  }
  return taken;
}

int64_t SampleSchedule::total(int64_t step) const {
  const int64_t at = step_in_epoch(step);
  return taken_in_epoch(at + 1) - taken_in_epoch(at);
}

int64_t SampleSchedule::total_until(int64_t step) const {
  XDC_CHECK(step >= 0);
  return (step / steps_per_epoch_) * samples_per_epoch_ + taken_in_epoch(step % steps_per_epoch_);
}

int64_t SampleSchedule::first_step_reaching(int64_t samples) const {
  XDC_CHECK(samples >= 1);
  const int64_t whole = (samples - 1) / samples_per_epoch_;
  const int64_t rest = samples - whole * samples_per_epoch_;  // 1 .. samples_per_epoch
  int64_t low = 1;
  int64_t high = steps_per_epoch_;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (taken_in_epoch(middle) >= rest) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return whole * steps_per_epoch_ + low;
}

int SampleSchedule::datacenter_of(int rank) const {
  XDC_CHECK(0 <= rank && rank < ranks());
  return static_cast<int>(std::ranges::upper_bound(first_rank_, rank) - first_rank_.begin()) - 1;
}

const SampleSchedule::Datacenter& SampleSchedule::datacenter(int index) const {
  XDC_CHECK(0 <= index && static_cast<size_t>(index) < datacenters_.size());
  return datacenters_[static_cast<size_t>(index)];
}

SampleSchedule::Share SampleSchedule::share_of(int rank) const {
  const int index = datacenter_of(rank);
  const int64_t local = rank - first_rank_[static_cast<size_t>(index)];
  const Shares shares = shares_of(datacenter(index));
  const int64_t larger_before = std::min<int64_t>(local, shares.with_larger);
  return {larger_before * shares.larger + (local - larger_before) * shares.smaller,
          local < shares.with_larger ? shares.larger : shares.smaller};
}

}  // namespace xdc
