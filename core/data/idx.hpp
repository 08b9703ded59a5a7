// How are digits read from the four IDX files (LeCun, "The MNIST database", file formats at the end)? Mapped into memory,
// never copied, and checked before the first sample is used.
//
//   train-images-idx3-ubyte, t10k-images-idx3-ubyte   u32 big-endian: 0x00000803, items, rows, columns; then u8 pixels
//   train-labels-idx1-ubyte, t10k-labels-idx1-ubyte   u32 big-endian: 0x00000801, items; then u8 labels
//
// Names with a dot (train-images.idx3-ubyte) are taken too.
#pragma once

#include <memory>
#include <string>

#include "core/base/result.hpp"
#include "core/data/dataset.hpp"

namespace xdc {

// Classes are 1 + the greatest label of both splits. Errors: invalid, naming the file and the offset in it: a file that is not
// there, empty, cut short or too long, labels where images belong (and the other way round), numbers of images and labels or
// sizes of train and test images that differ.
Result<std::shared_ptr<const Dataset>> open_idx(const std::string& folder);

}  // namespace xdc
