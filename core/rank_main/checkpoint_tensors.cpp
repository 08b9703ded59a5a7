#include "core/rank_main/checkpoint_tensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <memory>

#include "core/base/digest.hpp"
#include "core/rank_main/run_state.hpp"
#include "core/strategies/parameter_server_layout.hpp"
#include "core/strategies/registry.hpp"

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

int64_t checkpoint_bytes(const RunSpec& spec, MemberId member) {
  const auto& plan = spec.plan;
  const auto servers = plan.cluster.servers();
  const int64_t parameters = plan.geometry().real();
  const int state = make_optimizer(spec, spec.schedule()).state_tensors();
  int64_t elements = 0;
  if (const auto server = std::find(servers.begin(), servers.end(), member); server != servers.end()) {
    const Range shard = ServerLayout(plan).shard(static_cast<int>(server - servers.begin()));
    elements = plan.geometry().real(shard).count * state;
  } else {
    // Its own if it trains locally, the first rank's for all if it applies gradients, the servers' otherwise.
    const bool keeps_state = plan.trains_locally() || (member == 0 && servers.empty());
    elements = strategy_of(plan.spec).residuals(plan, member).elements() + (keeps_state ? parameters * state : 0);
    elements += member == 0 ? parameters : 0;
  }
  return elements * static_cast<int64_t>(sizeof(float));
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

namespace {

// A file that does not exist yet, part by part out of the device. What is in the cache is hashed and written from there: a copy of the
// whole file would cost as much time as a good disk.
class FileParts {
 public:
  static constexpr size_t kPart = size_t{2} << 20;

  FileParts(Device& device, Stream stream, const SafetensorsLayout& layout, const std::vector<Tensor>& tensors, size_t residuals_at)
      : device_(device), stream_(stream), layout_(layout), tensors_(tensors), residuals_at_(residuals_at) {}

  Status prepare() {
    XDC_TRY_ASSIGN(staging_, device_.allocate(Space::pinned, std::min(kPart, layout_.size())));
    return ok_status();
  }

  Result<std::span<const std::byte>> next() {
    const size_t size = std::min(kPart, layout_.size() - at_);
    if (size == 0) return std::span<const std::byte>();
    const auto part = staging_->bytes().slice(0, size);
    fill(part);
    XDC_TRY(device_.wait(device_.record(stream_), kNoDeadline));
    const auto bytes = std::span<const std::byte>(part.host());
    digest_.update(bytes);
    if (at_ + size > residuals_at_) squares_ += squares_of(bytes.subspan(std::max(at_, residuals_at_) - at_));
    at_ += size;
    return bytes;
  }

  std::string digest() const { return digest_.hex(); }
  double residual_norm() const { return std::sqrt(squares_); }

 private:
  // What of [at_, at_ + part.size) each of head and tensors has.
  void fill(Bytes part) {
    size_t begin = 0;
    const auto overlap = [&](size_t size, const auto& copy) {
      const size_t from = std::max(at_, begin), to = std::min(at_ + part.size, begin + size);
      if (from < to) copy(part.slice(from - at_, to - from), from - begin, to - from);
      begin += size;
    };
    overlap(layout_.head().size(),
            [&](Bytes into, size_t from, size_t size) { std::memcpy(into.host().data(), layout_.head().data() + from, size); });
    for (const Tensor& tensor : tensors_) {
      overlap(tensor.bytes.size,
              [&](Bytes into, size_t from, size_t size) { device_.copy(stream_, into, tensor.bytes.slice(from, size)); });
    }
  }

  // Of f32, whole ones: a part ends where one does, as the head and the tensors do.
  static double squares_of(std::span<const std::byte> floats) {
    double sum = 0;
    for (size_t at = 0; at + sizeof(float) <= floats.size(); at += sizeof(float)) {
      float value = 0;
      std::memcpy(&value, floats.data() + at, sizeof value);
      sum += static_cast<double>(value) * static_cast<double>(value);
    }
    return sum;
  }

  Device& device_;
  const Stream stream_;
  const SafetensorsLayout& layout_;
  const std::vector<Tensor>& tensors_;
  const size_t residuals_at_;
  std::unique_ptr<Buffer> staging_;
  size_t at_ = 0;
  Digest digest_;
  double squares_ = 0;
};

}  // namespace

Result<PieceFile> write_tensors(Device& device, Stream stream, CheckpointFolder& folder, const WrittenFile& file,
                                const std::vector<TensorEntry>& entries, const std::vector<Tensor>& tensors) {
  const SafetensorsLayout layout(entries, {{"format", "xdc"}, {"step", std::to_string(file.step)}, {"member", file.member}});
  size_t size = layout.head().size();
  for (const Tensor& tensor : tensors) size += tensor.bytes.size;
  XDC_CHECK(size == layout.size());
  const bool has_residuals = !entries.empty() && entries.back().name == kResidualsTensor;
  FileParts parts(device, stream, layout, tensors, has_residuals ? layout.offset(entries.size() - 1) : layout.size());
  XDC_TRY(parts.prepare());
  XDC_TRY(folder.write(file.step, file.name, [&parts] { return parts.next(); }));
  return PieceFile{file.name, file.member, static_cast<int64_t>(layout.size()), parts.digest(), parts.residual_norm()};
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
