// Which samples, and in which datacenter do they lie?
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace xdc {

enum class DataSource { idx, generated };
enum class PartitionKind { uniform, dirichlet };

struct DataSpec {
  DataSource source = DataSource::generated;
  std::string path;  // the folder with the four IDX files
  // generated: class means on a random sphere plus noise; learnable, made from the seed alone
  int64_t train_samples = 0, test_samples = 0;
  int height = 28, width = 28, channels = 1, classes = 10;
  PartitionKind partition = PartitionKind::uniform;
  double alpha = 0;                            // dirichlet
  std::vector<int64_t> samples_per_datacenter;  // topology order; every one > 0
};

}  // namespace xdc
