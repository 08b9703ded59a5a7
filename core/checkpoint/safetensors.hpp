// How do tensors become a file that others can read? The safetensors format (github.com/huggingface/safetensors, README "Format"):
//
//   u64 little-endian   length of the header
//   header              a JSON object: name -> {"dtype": "F32", "shape": [..], "data_offsets": [begin, end]}, offsets into the data;
//                       "__metadata__" maps texts to texts; blanks follow, so that the data begin at a multiple of 8
//   data                row-major, little-endian, one tensor after another without holes
//
// xdc writes F32 alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.hpp"

namespace xdc {

struct TensorEntry {
  std::string name;
  std::vector<int64_t> shape;
  int64_t elements() const;
};

// A file before it has contents: what is to stand where. Tensors lie in the order given.
class SafetensorsLayout {
 public:
  SafetensorsLayout(std::vector<TensorEntry> tensors, const std::map<std::string, std::string>& metadata);

  // Length and header: the first bytes of the file.
  const std::string& head() const { return head_; }
  // Of the whole file.
  size_t size() const { return head_.size() + data_size_; }
  // Where the i-th tensor's bytes begin in the file, and how many they are.
  size_t offset(size_t i) const { return head_.size() + offsets_[i]; }
  size_t bytes(size_t i) const { return (i + 1 < offsets_.size() ? offsets_[i + 1] : data_size_) - offsets_[i]; }

 private:
  std::vector<size_t> offsets_;
  size_t data_size_ = 0;
  std::string head_;
};

struct ReadTensor {
  std::string name;
  std::vector<int64_t> shape;
  std::span<const std::byte> bytes;  // inside the file's
};

// The F32 tensors of a file, in the order of their bytes. Errors: failed, saying what is wrong with the file.
Result<std::vector<ReadTensor>> read_safetensors(std::span<const std::byte> file);

}  // namespace xdc
