// What does a sample look like, and how does it become a tensor?
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/base/result.hpp"
#include "core/data/spec.hpp"

namespace xdc {

// Samples in a fixed order: pixels u8, row-major [channels, height, width], and one label each.
struct Split {
  std::span<const uint8_t> pixels;
  std::span<const uint8_t> labels;
  int64_t size() const { return static_cast<int64_t>(labels.size()); }
};

// Read-only; shared by whoever needs it, from any lane.
class Dataset {
 public:
  struct Shape {
    int channels = 1, height = 0, width = 0;
    int classes = 0;  // labels are 0 .. classes - 1
    int64_t inputs() const { return int64_t{channels} * height * width; }
  };

  // `owner` keeps alive what the splits point into.
  Dataset(Shape shape, Split train, Split test, std::shared_ptr<const void> owner);

  const Shape& shape() const { return shape_; }
  const Split& train() const { return train_; }
  const Split& test() const { return test_; }

  // images[i] = pixels of sample indices[i], each as pixel / 255, f32 in [0, 1]; labels[i] its label. What is behind the last
  // index is left as it was. Requires room for indices.size() samples, and every index in the split.
  void gather(const Split& split, std::span<const int32_t> indices, std::span<float> images, std::span<int32_t> labels) const;

 private:
  Shape shape_;
  Split train_, test_;
  std::shared_ptr<const void> owner_;
};

// idx: the four files in spec.path. generated: from the seed alone.
// Errors: invalid, with the file, the offset in it, and what is wrong there.
Result<std::shared_ptr<const Dataset>> open_dataset(const DataSpec& spec, uint64_t seed);

}  // namespace xdc
