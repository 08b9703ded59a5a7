#include "exec/host/rehearsal_device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace xdc {

namespace {

class PhantomBuffer final : public Buffer {
 public:
  explicit PhantomBuffer(size_t size) : size_(size) {}
  Bytes bytes() const override { return {Space::device, nullptr, size_}; }

 private:
  size_t size_;
};

class HostBuffer final : public Buffer {
 public:
  // At least one byte: an empty buffer still has a place, so that it is no phantom.
  HostBuffer(Space space, size_t size) : space_(space), size_(size), memory_(std::max<size_t>(size, 1)) {}
  Bytes bytes() const override { return {space_, memory_.data(), size_}; }

 private:
  Space space_;
  size_t size_;
  mutable std::vector<std::byte> memory_;
};

}  // namespace

RehearsalDevice::RehearsalDevice(Model model, Clock& clock, Kernels& kernels) : model_(std::move(model)), clock_(clock), kernels_(kernels) {
  XDC_CHECK_MSG(model_.flops_per_s > 0 && model_.memory_bandwidth > 0, "device " + model_.name + " has no speed");
}

Result<std::unique_ptr<Buffer>> RehearsalDevice::allocate(Space space, size_t size) {
  if (space == Space::device) {
    return std::unique_ptr<Buffer>(std::make_unique<PhantomBuffer>(size));
  }
  return std::unique_ptr<Buffer>(std::make_unique<HostBuffer>(space, size));
}

Stream RehearsalDevice::make_stream(std::string_view) {
  const std::lock_guard lock(mutex_);
  ready_at_.emplace_back();
  return {static_cast<int>(ready_at_.size()) - 1};
}

TimePoint& RehearsalDevice::ready_at(Stream stream) {
  XDC_CHECK_MSG(stream.id >= 0 && static_cast<size_t>(stream.id) < ready_at_.size(), "a stream that this device never made");
  return ready_at_[static_cast<size_t>(stream.id)];
}

void RehearsalDevice::copy(Stream, Bytes to, Bytes from) {
  XDC_CHECK_MSG(to.size == from.size, "a copy between different sizes");
  if (!to.phantom() && !from.phantom() && to.size > 0) {
    std::memcpy(to.data, from.data, to.size);
  }
}

void RehearsalDevice::clear(Stream, Bytes to) {
  if (!to.phantom() && to.size > 0) {
    std::memset(to.data, 0, to.size);
  }
}

// An event is the time at which it is done; nothing is kept for it.
Event RehearsalDevice::record(Stream stream) {
  const std::lock_guard lock(mutex_);
  return {static_cast<uint64_t>(ready_at(stream).ns)};
}

void RehearsalDevice::stream_wait(Stream stream, Event event) {
  const std::lock_guard lock(mutex_);
  TimePoint& ready = ready_at(stream);
  ready = std::max(ready, TimePoint{static_cast<int64_t>(event.id)});
}

Status RehearsalDevice::wait(Event event, Deadline deadline) {
  const TimePoint done{static_cast<int64_t>(event.id)};
  if (done > deadline && done > clock_.now()) {
    clock_.sleep_until(deadline);
    return Error{ErrorCode::timeout, fmt::format("the rehearsed work on device {} would be done {:.3f} s after the deadline", model_.name,
                                                 to_seconds(done - deadline))};
  }
  if (done > clock_.now()) {
    clock_.sleep_until(done);
  }
  return ok_status();
}

void RehearsalDevice::charge(Stream stream, Cost cost) {
  XDC_CHECK(cost.flops >= 0 && cost.bytes >= 0);
  if (!model_.waits) {
    return;
  }
  const double time_s = std::max(cost.flops / model_.flops_per_s, cost.bytes / model_.memory_bandwidth);
  const std::lock_guard lock(mutex_);
  TimePoint& ready = ready_at(stream);
  ready = std::max(ready, clock_.now()) + from_seconds(time_s);
}

std::optional<float> RehearsalDevice::read_scalar(Stream stream, Tensor scalar) {
  XDC_CHECK(scalar.dtype == DType::f32 && scalar.elements() == 1);
  XDC_CHECK(wait(record(stream), kNoDeadline).ok());
  if (scalar.bytes.phantom()) {
    return std::nullopt;
  }
  float value = 0;
  std::memcpy(&value, scalar.bytes.data, sizeof value);
  return value;
}

}  // namespace xdc
