#include "core/validate/run_spec.hpp"

namespace xdc {

SampleSchedule RunSpec::schedule() const {
  std::vector<SampleSchedule::Datacenter> datacenters;
  for (size_t d = 0; d < topology.datacenters.size(); ++d) {
    datacenters.push_back(
        {data.samples_per_datacenter[d], topology.datacenters[d].devices(), train.batch_per_datacenter[d] * train.accumulation_steps});
  }
  return SampleSchedule(std::move(datacenters));
}

}  // namespace xdc
