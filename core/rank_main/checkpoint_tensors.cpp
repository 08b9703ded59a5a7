#include "core/rank_main/checkpoint_tensors.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstring>

#include "core/base/digest.hpp"

namespace xdc {

std::vector<TensorEntry> parameter_entries(const NetworkSpec& network) {
  std::vector<TensorEntry> entries;
  for (size_t l = 0; l < network.layers.size(); ++l) {
    const LayerSpec& layer = network.layers[l];
    if (layer.parameters == 0) continue;
    const int64_t out = layer.out_channels;
    const bool dense = layer.kind == LayerKind::dense;
    const std::vector<int64_t> weight =
        dense ? std::vector<int64_t>{out, layer.inputs()} : std::vector<int64_t>{out, layer.in_channels, layer.kernel, layer.kernel};
    entries.push_back({fmt::format("layer{}.weight", l), weight});
    entries.push_back({fmt::format("layer{}.bias", l), {out}});
  }
  return entries;
}

Result<std::span<const std::byte>> data_of_file(std::span<const std::byte> file, const std::vector<Tensor>& tensors) {
  size_t wanted = 0;
  for (const Tensor& tensor : tensors) wanted += tensor.bytes.size;
  if (file.empty() && wanted == 0) return std::span<const std::byte>();
  XDC_TRY_ASSIGN(const auto read, read_safetensors(file));
  size_t size = 0;
  for (const ReadTensor& tensor : read) size += tensor.bytes.size();
  if (size != wanted) {
    return Error{ErrorCode::failed,
                 fmt::format("a file of the checkpoint holds {} bytes of tensors where this member has {}", size, wanted)};
  }
  return file.subspan(file.size() - size);
}

Result<PieceFile> write_tensors(Device& device, Stream stream, CheckpointFolder& folder, const WrittenFile& file,
                                const std::vector<TensorEntry>& entries, const std::vector<Tensor>& tensors) {
  const SafetensorsLayout layout(entries, {{"format", "xdc"}, {"step", std::to_string(file.step)}, {"member", file.member}});
  // Once from the device into the file's own bytes; nothing is copied again.
  XDC_TRY_ASSIGN(const auto buffer, device.allocate(Space::pinned, layout.size()));
  std::memcpy(buffer->bytes().host().data(), layout.head().data(), layout.head().size());
  size_t at = layout.head().size();
  for (const Tensor& tensor : tensors) {
    if (tensor.bytes.size > 0) device.copy(stream, buffer->bytes().slice(at, tensor.bytes.size), tensor.bytes);
    at += tensor.bytes.size;
  }
  XDC_CHECK(at == layout.size());
  XDC_TRY(device.wait(device.record(stream), kNoDeadline));
  const auto contents = std::span<const std::byte>(buffer->bytes().host());
  PieceFile piece{file.name, file.member, static_cast<int64_t>(contents.size()), digest(contents), 0};
  if (!entries.empty() && entries.back().name == kResidualsTensor)
    piece.residual_norm = norm_of(contents.subspan(layout.offset(entries.size() - 1)));
  XDC_TRY(folder.write(file.step, file.name, contents));
  return piece;
}

double norm_of(std::span<const std::byte> floats) {
  double sum = 0;
  for (size_t at = 0; at + sizeof(float) <= floats.size(); at += sizeof(float)) {
    float value = 0;
    std::memcpy(&value, floats.data() + at, sizeof value);
    sum += static_cast<double>(value) * static_cast<double>(value);
  }
  return std::sqrt(sum);
}

std::string steps_text(const std::set<int64_t>& steps) { return fmt::format("{}", fmt::join(steps, " ")); }

std::set<int64_t> steps_from_text(std::string_view text) {
  std::set<int64_t> steps;
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  while (at != end) {
    int64_t step = 0;
    const auto read = std::from_chars(at, end, step);
    if (read.ec != std::errc()) break;
    steps.insert(step);
    at = read.ptr == end ? end : read.ptr + 1;
  }
  return steps;
}

}  // namespace xdc
