// How many samples does each rank take at each step? Known to every member, servers included, from the scenario alone, in
// constant time: nobody has to be told.
//
// An epoch is global: every sample of every datacenter exactly once. A datacenter's S samples are split over its g ranks as
// evenly as can be, the first S mod g ranks having one more. A rank takes its batch at each step, then what is left, then
// nothing until the next epoch, which starts when all are exhausted. So an epoch has max over ranks of ceil(share / batch)
// steps, and n_r = 0 is an exhausted rank, which takes part with weight 0.
//
// A run that goes on with other ranks or batches deals anew, within an epoch: what no rank has taken of a datacenter's list, in its order,
// is split over the ranks that there are now, as a whole epoch's is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace xdc {

class SampleSchedule {
 public:
  struct Datacenter {
    int64_t samples = 0;  // > 0
    int ranks = 0;        // > 0
    int batch = 0;        // per rank and step, > 0: every micro-batch of it
    friend bool operator==(const Datacenter&, const Datacenter&) = default;
  };
  // How samples have been dealt since some epoch began.
  struct Deals {
    // The epoch, which begins after this step, when so many samples have been taken.
    int64_t step = 0, epoch = 0, samples = 0;
    struct Deal {
      int64_t after_step = 0;
      std::vector<Datacenter> datacenters;
      friend bool operator==(const Deal&, const Deal&) = default;
    };
    // The first after `step`, each in the epoch. The last holds from there on, in later epochs too.
    std::vector<Deal> deals;
    friend bool operator==(const Deals&, const Deals&) = default;
  };

  // Ranks are numbered through: those of the first datacenter, then those of the second.
  explicit SampleSchedule(std::vector<Datacenter> datacenters) : SampleSchedule(GoesOn{}, Deals{0, 0, 0, {{0, std::move(datacenters)}}}) {}
  struct GoesOn {};
  SampleSchedule(GoesOn, Deals deals);

  const Deals& deals() const { return deals_; }
  // Where the last deal begins: steps up to it are not asked for below.
  int64_t begin() const { return deals_.deals.back().after_step; }
  // The same run, with other ranks or batches after this step. Requires the same samples of the same datacenters, and step >= begin().
  Deals dealt_anew(int64_t step, std::vector<Datacenter> datacenters) const;

  int ranks() const { return first_rank_.back(); }
  int64_t samples_per_epoch() const { return samples_per_epoch_; }
  // Of one that is dealt as a whole.
  int64_t steps_per_epoch() const { return steps_per_epoch_; }
  // The step with which so many epochs are complete; begin(), where they were before. Requires epochs >= 1.
  int64_t steps_of_epochs(int64_t epochs) const;

  // Steps count from 1, epochs from 0.
  int64_t epoch_of(int64_t step) const;
  // The step's place in its epoch, from 0; where samples were dealt anew in it, since then.
  int64_t step_in_epoch(int64_t step) const;

  // n_r; W = sum of n_r over all ranks (always > 0).
  int samples(int rank, int64_t step) const;
  int64_t total(int64_t step) const;
  // Sum of total() over steps 1 .. step; 0 for step 0. Requires step >= begin().
  int64_t total_until(int64_t step) const;
  // The first step at whose end `samples` have been taken; begin(), where they were before. Requires samples >= 1.
  int64_t first_step_reaching(int64_t samples) const;

  int datacenter_of(int rank) const;
  const Datacenter& datacenter(int index) const;
  struct Share {
    int64_t first = 0, size = 0;
  };
  // The index-th of `parts` parts of so many samples: [first, first + size).
  static Share part(int64_t samples, int parts, int index);
  // Which part a rank has of its datacenter's list in the step's epoch, or of what of it was left to be dealt.
  Share share_of(int rank, int64_t step) const;
  // Its place among its datacenter's ranks.
  int rank_in_datacenter(int rank) const { return rank - first_rank_[static_cast<size_t>(datacenter_of(rank))]; }
  // Whether the step takes from what was left when samples were dealt last.
  bool takes_rest(int64_t step) const { return step - begin() <= rest_steps_; }

 private:
  // Taken by all ranks in so many steps, of so many samples in each datacenter.
  int64_t taken(const std::vector<int64_t>& samples, int64_t steps) const;
  // Steps until all of these are taken.
  int64_t steps_for(const std::vector<int64_t>& samples) const;
  const std::vector<int64_t>& dealt_at(int64_t step) const { return takes_rest(step) ? rest_ : all_; }

  Deals deals_;
  std::vector<Datacenter> datacenters_;  // of the last deal
  std::vector<int> first_rank_;          // per datacenter, and one more: the number of ranks
  std::vector<int64_t> all_, rest_;      // per datacenter: its samples, and what the last deal had left of them
  int64_t samples_per_epoch_ = 0;
  int64_t steps_per_epoch_ = 0;
  int64_t rest_steps_ = 0, taken_before_ = 0;  // of the last deal
};

}  // namespace xdc
