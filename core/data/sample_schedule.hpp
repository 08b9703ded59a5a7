// How many samples does each rank take at each step? Known to every member, servers included, from the scenario alone, in
// constant time: nobody has to be told.
//
// An epoch is global: every sample of every datacenter exactly once. A datacenter's S samples are split over its g ranks as
// evenly as can be, the first S mod g ranks having one more. A rank takes its batch at each step, then what is left, then
// nothing until the next epoch, which starts when all are exhausted. So an epoch has max over ranks of ceil(share / batch)
// steps, and n_r = 0 is an exhausted rank, which takes part with weight 0.
#pragma once

#include <cstdint>
#include <vector>

namespace xdc {

class SampleSchedule {
 public:
  struct Datacenter {
    int64_t samples = 0;  // > 0
    int ranks = 0;        // > 0
    int batch = 0;        // per rank and step, > 0: every micro-batch of it
  };

  // Ranks are numbered through: those of the first datacenter, then those of the second.
  explicit SampleSchedule(std::vector<Datacenter> datacenters);

  int ranks() const { return first_rank_.back(); }
  int64_t samples_per_epoch() const { return samples_per_epoch_; }
  int64_t steps_per_epoch() const { return steps_per_epoch_; }

  // Steps count from 1, epochs from 0.
  int64_t epoch_of(int64_t step) const;
  // The step's place in its epoch, from 0.
  int64_t step_in_epoch(int64_t step) const;

  // n_r; W = sum of n_r over all ranks (always > 0).
  int samples(int rank, int64_t step) const;
  int64_t total(int64_t step) const;
  // Sum of total() over steps 1 .. step; 0 for step 0.
  int64_t total_until(int64_t step) const;
  // The first step at whose end `samples` have been taken; requires samples >= 1.
  int64_t first_step_reaching(int64_t samples) const;

  int datacenter_of(int rank) const;
  const Datacenter& datacenter(int index) const;
  // Which part of its datacenter's list a rank has in every epoch: [first, first + size).
  struct Share {
    int64_t first = 0, size = 0;
  };
  Share share_of(int rank) const;

 private:
  struct Shares {
    int64_t larger = 0, smaller = 0;  // share sizes
    int with_larger = 0, with_smaller = 0;
  };
  Shares shares_of(const Datacenter& datacenter) const;
  // Taken by all ranks in the first `steps` steps of an epoch.
  int64_t taken_in_epoch(int64_t steps) const;

  std::vector<Datacenter> datacenters_;
  std::vector<int> first_rank_;  // per datacenter, and one more: the number of ranks
  int64_t samples_per_epoch_ = 0;
  int64_t steps_per_epoch_ = 0;
};

}  // namespace xdc
