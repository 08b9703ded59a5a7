// Which samples does one rank take at a step? Any step may be asked for, in any order: the step number is the whole state,
// so undoing a round or resuming from a checkpoint restores nothing.
//
// Each (epoch, datacenter) has one permutation of the datacenter's list, drawn from the stream "data/permutation/<epoch>",
// ranked by datacenter. A rank's share of it, or of what was left of it when samples were dealt anew, is contiguous
// (SampleSchedule::share_of).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/data/sample_schedule.hpp"

namespace xdc {

class Sampler {
 public:
  // `indices`: the datacenter's list (partition_samples). `rank` as SampleSchedule numbers them.
  // Requires indices.size() == the datacenter's samples in the schedule.
  Sampler(const SampleSchedule& schedule, int rank, std::vector<int32_t> indices, uint64_t seed);

  // schedule.samples(rank, step) indices into the training split; valid until the next call.
  std::span<const int32_t> indices(int64_t step);

 private:
  void permute(int64_t step);

  SampleSchedule schedule_;
  int rank_;
  std::vector<int32_t> indices_;
  uint64_t seed_;
  std::vector<int32_t> share_;  // this rank's part of the permutation of epoch_
  int64_t epoch_ = -1;
};

}  // namespace xdc
