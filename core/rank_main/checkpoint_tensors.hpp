// Which tensors are in a checkpoint's files, and what are they called?
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/checkpoint/safetensors.hpp"
#include "core/seam/bytes.hpp"
#include "core/seam/kernels.hpp"

namespace xdc {

inline constexpr const char* kResidualsTensor = "residuals";

// "layer0.weight" [out, in, k, k], "layer0.bias" [out], ...: as they follow each other in the flat buffer.
std::vector<TensorEntry> parameter_entries(const NetworkSpec& network);

// The data of a file whose tensors together are as long as `tensors`; empty for an empty file and no tensors. Errors: failed.
Result<std::span<const std::byte>> data_of_file(std::span<const std::byte> file, const std::vector<Tensor>& tensors);

// Euclidean, of f32.
double norm_of(std::span<const std::byte> floats);

// "100 200 300", and back.
std::string steps_text(const std::set<int64_t>& steps);
std::set<int64_t> steps_from_text(std::string_view text);

}  // namespace xdc
