#include "core/validate/run_spec.hpp"

namespace xdc {

std::vector<SampleSchedule::Datacenter> RunSpec::dealt() const {
  std::vector<SampleSchedule::Datacenter> datacenters;
  for (size_t d = 0; d < topology.datacenters.size(); ++d) {
    datacenters.push_back(
        {data.samples_per_datacenter[d], topology.datacenters[d].devices(), train.batch_per_datacenter[d] * train.accumulation_steps});
  }
  return datacenters;
}

SampleSchedule RunSpec::schedule() const {
  return start.deals ? SampleSchedule(SampleSchedule::GoesOn{}, *start.deals) : SampleSchedule(dealt());
}

}  // namespace xdc
