// Which tensors are in a checkpoint's files, and what are they called? How is a file of them written, and how large are they?
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/checkpoint/folder.hpp"
#include "core/checkpoint/safetensors.hpp"
#include "core/seam/bytes.hpp"
#include "core/seam/device.hpp"
#include "core/seam/kernels.hpp"
#include "core/validate/run_spec.hpp"

namespace xdc {

inline constexpr const char* kResidualsTensor = "residuals";

// "layer0.weight" [out, in, k, k], "layer0.bias" [out], ...: as they follow each other in the flat buffer.
std::vector<TensorEntry> parameter_entries(const NetworkSpec& network);

// The data of a file whose tensors together are as long as `tensors`; empty for an empty file and no tensors. Errors: failed.
Result<std::span<const std::byte>> data_of_file(std::span<const std::byte> file, const std::vector<Tensor>& tensors);

// What a member writes for one checkpoint, but for heads of files and the manifest.
int64_t checkpoint_bytes(const RunSpec& spec, MemberId member);

struct WrittenFile {
  int64_t step = 0;
  std::string member;  // whose it is: "rank3.beijing"
  std::string name;
};

// One file of a checkpoint: these tensors, by the names and shapes of the entries. Errors: those of
// the storage and the device.
Result<PieceFile> write_tensors(Device& device, Stream stream, CheckpointFolder& folder, const WrittenFile& file,
                                const std::vector<TensorEntry>& entries, const std::vector<Tensor>& tensors);

// "100 200 300", and back.
std::string steps_text(const std::set<int64_t>& steps);
std::set<int64_t> steps_from_text(std::string_view text);

}  // namespace xdc
