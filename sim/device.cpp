#include "sim/device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "core/base/quantity.hpp"

namespace xdc {
namespace {

constexpr size_t kAlignment = 64;

struct Free {
  void operator()(std::byte* memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<std::byte[], Free>;

Memory zeroed(size_t size) {
  const size_t rounded = std::max<size_t>((size + kAlignment - 1) / kAlignment, 1) * kAlignment;
  Memory memory(static_cast<std::byte*>(std::aligned_alloc(kAlignment, rounded)));
  if (memory != nullptr) {
    std::memset(memory.get(), 0, rounded);
  }
  return memory;
}

}  // namespace

class SimBuffer final : public Buffer {
 public:
  SimBuffer(SimDevice& device, Space space, size_t size, Memory memory)
      : device_(device), bytes_{space, memory.get(), size}, memory_(std::move(memory)) {
    device_.in_use_ += space == Space::device ? size : 0;
  }
  ~SimBuffer() override {
    device_.in_use_ -= bytes_.space == Space::device ? bytes_.size : 0;
    if (!bytes_.phantom()) {
      std::erase_if(device_.unfinished_,
                    [&](const auto& range) { return range.begin >= bytes_.data && range.end <= bytes_.data + bytes_.size; });
    }
  }
  Bytes bytes() const override { return bytes_; }

 private:
  SimDevice& device_;
  Bytes bytes_;
  Memory memory_;
};

SimDevice::SimDevice(SimClock& clock, DeviceSpec spec, PayloadKind payload, Kernels& arithmetic, std::string owner)
    : clock_(clock), spec_(std::move(spec)), payload_(payload), arithmetic_(arithmetic), owner_(std::move(owner)) {
  XDC_CHECK_MSG(spec_.flops_per_s > 0 && spec_.memory_bandwidth > 0, "device " + spec_.name + " has no speed");
  kernels_ = watched_kernels(*this, arithmetic_);
}

SimDevice::~SimDevice() = default;

Result<std::unique_ptr<Buffer>> SimDevice::allocate(Space space, size_t size) {
  if (space == Space::device && size > static_cast<size_t>(spec_.memory_bytes) - in_use_) {
    return Error{ErrorCode::failed, fmt::format("{}: device {} is full: {} asked for, {} in use, {} there", owner_, spec_.name,
                                                format_bytes(static_cast<double>(size)), format_bytes(static_cast<double>(in_use_)),
                                                format_bytes(static_cast<double>(spec_.memory_bytes)))};
  }
  Memory memory;
  if (space != Space::device || payload_ == PayloadKind::real) {
    memory = zeroed(size);
    if (memory == nullptr) {
      return Error{ErrorCode::failed, fmt::format("{}: this computer has no {} left for the simulation; payload = \"phantom\" needs none",
                                                  owner_, format_bytes(static_cast<double>(size)))};
    }
  }
  return std::unique_ptr<Buffer>(std::make_unique<SimBuffer>(*this, space, size, std::move(memory)));
}

Stream SimDevice::make_stream(std::string_view name) {
  streams_.push_back({std::string(name), {}});
  return {static_cast<int>(streams_.size()) - 1};
}

SimDevice::StreamState& SimDevice::state(Stream stream) {
  XDC_CHECK_MSG(stream.id >= 0 && static_cast<size_t>(stream.id) < streams_.size(), "a stream that this device never made");
  return streams_[static_cast<size_t>(stream.id)];
}

void SimDevice::copy(Stream stream, Bytes to, Bytes from) {
  XDC_CHECK_MSG(to.size == from.size, "a copy between different sizes");
  check_readable(stream, from);
  if (!to.phantom() && !from.phantom() && to.size > 0) {
    XDC_CHECK_MSG(to.data + to.size <= from.data || from.data + from.size <= to.data, "a copy overlaps itself");
    std::memcpy(to.data, from.data, to.size);
  }
  written(stream, to);
}

void SimDevice::clear(Stream stream, Bytes to) {
  if (!to.phantom() && to.size > 0) {
    std::memset(to.data, 0, to.size);
  }
  written(stream, to);
}

// An event is the time at which it is done; nothing is kept for it.
Event SimDevice::record(Stream stream) { return {static_cast<uint64_t>(state(stream).ready_at.ns)}; }

void SimDevice::stream_wait(Stream stream, Event event) {
  auto& ready_at = state(stream).ready_at;
  ready_at = std::max(ready_at, TimePoint{static_cast<int64_t>(event.id)});
}

Status SimDevice::wait(Event event, Deadline deadline) {
  const TimePoint done{static_cast<int64_t>(event.id)};
  if (done > deadline && done > clock_.now()) {
    clock_.sleep_until(deadline);
    return Error{ErrorCode::timeout, fmt::format("{}: work on device {} is not done before {}, only {} later", owner_, spec_.name,
                                                 format_duration(deadline - TimePoint{}), format_duration(done - deadline))};
  }
  clock_.sleep_until(done);
  return ok_status();
}

void SimDevice::charge(Stream stream, Cost cost) {
  auto& [name, ready_at] = state(stream);
  const double time_s = std::max(cost.flops / spec_.flops_per_s, cost.bytes / spec_.memory_bandwidth);
  const auto start = std::max(ready_at, clock_.now());
  ready_at = start + from_seconds(time_s);
  if (watcher_) {
    watcher_(name, start, ready_at);
  }
}

std::optional<float> SimDevice::read_scalar(Stream stream, Tensor scalar) {
  XDC_CHECK(scalar.dtype == DType::f32 && scalar.elements() == 1);
  clock_.sleep_until(state(stream).ready_at);
  check_finished(scalar.bytes, "read");
  if (scalar.bytes.phantom()) {
    return std::nullopt;
  }
  float value = 0;
  std::memcpy(&value, scalar.bytes.data, sizeof value);
  return value;
}

void SimDevice::written(Stream stream, Bytes bytes) {
  const auto ready_at = state(stream).ready_at;
  if (bytes.phantom() || bytes.size == 0 || ready_at <= clock_.now()) {
    return;
  }
  for (auto& range : unfinished_) {  // most often the same bucket as last time
    if (range.begin == bytes.data && range.end == bytes.data + bytes.size) {
      range.ready_at = std::max(range.ready_at, ready_at);
      range.stream = stream.id;
      return;
    }
  }
  unfinished_.push_back({bytes.data, bytes.data + bytes.size, ready_at, stream.id});
}

const SimDevice::Unfinished* SimDevice::unfinished_after(Bytes bytes, TimePoint t) {
  if (bytes.phantom() || bytes.size == 0 || unfinished_.empty()) {
    return nullptr;
  }
  const auto now = clock_.now();
  std::erase_if(unfinished_, [&](const auto& range) { return range.ready_at <= now; });
  const auto found = std::find_if(unfinished_.begin(), unfinished_.end(), [&](const auto& range) {
    return range.ready_at > t && range.begin < bytes.data + bytes.size && bytes.data < range.end;
  });
  return found == unfinished_.end() ? nullptr : &*found;
}

void SimDevice::check_readable(Stream stream, Bytes bytes) {
  const auto& reader = state(stream);
  if (const auto* range = unfinished_after(bytes, std::max(reader.ready_at, clock_.now())); range != nullptr) {
    XDC_CHECK_MSG(false, fmt::format("stream {} reads memory that stream {} writes until later: a stream_wait is missing", reader.name,
                                     streams_[static_cast<size_t>(range->stream)].name));
  }
}

void SimDevice::check_finished(Bytes bytes, const char* used_for) {
  if (const auto* range = unfinished_after(bytes, clock_.now()); range != nullptr) {
    XDC_CHECK_MSG(false, fmt::format("memory is {} that stream {} writes for another {}: a wait is missing", used_for,
                                     streams_[static_cast<size_t>(range->stream)].name, format_duration(range->ready_at - clock_.now())));
  }
}

}  // namespace xdc
