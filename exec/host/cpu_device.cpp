#include "exec/host/cpu_device.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <functional>

namespace xdc {

namespace {

// A cache line, and the widest vector of any processor this runs on.
constexpr size_t kAlignment = 64;

struct Free {
  void operator()(std::byte* p) const { std::free(p); }
};
using Memory = std::unique_ptr<std::byte, Free>;

void check_real(Bytes bytes) { XDC_CHECK_MSG(!bytes.phantom() || bytes.size == 0, "a phantom reached a device that does real work"); }

bool overlap(Bytes a, Bytes b) {
  const std::less<const std::byte*> before;
  return a.size > 0 && b.size > 0 && before(a.data, b.data + b.size) && before(b.data, a.data + a.size);
}

}  // namespace

class CpuBuffer final : public Buffer {
 public:
  CpuBuffer(CpuDevice& device, Memory memory, Space space, size_t size)
      : device_(device), memory_(std::move(memory)), space_(space), size_(size) {
    device_.bytes_in_use_ += size_;
  }
  ~CpuBuffer() override { device_.bytes_in_use_ -= size_; }
  CpuBuffer(const CpuBuffer&) = delete;
  CpuBuffer& operator=(const CpuBuffer&) = delete;
  Bytes bytes() const override { return {space_, memory_.get(), size_}; }

 private:
  CpuDevice& device_;
  Memory memory_;
  Space space_;
  size_t size_;
};

CpuDevice::~CpuDevice() { XDC_CHECK_MSG(bytes_in_use_ == 0, "a buffer outlives its device"); }

Result<std::unique_ptr<Buffer>> CpuDevice::allocate(Space space, size_t size) {
  // At least one line: an empty buffer still has a place, so that it is no phantom.
  const size_t lines = size / kAlignment + (size % kAlignment != 0 || size == 0 ? 1 : 0);
  Memory memory(lines > SIZE_MAX / kAlignment ? nullptr : static_cast<std::byte*>(std::aligned_alloc(kAlignment, lines * kAlignment)));
  if (!memory) {
    return Error{ErrorCode::failed, fmt::format("{}: no memory for {} bytes more; {} bytes are in use", name_, size, bytes_in_use_.load())};
  }
  std::memset(memory.get(), 0, lines * kAlignment);
  return std::unique_ptr<Buffer>(std::make_unique<CpuBuffer>(*this, std::move(memory), space, size));
}

Stream CpuDevice::make_stream(std::string_view) { return {++streams_}; }

void CpuDevice::copy(Stream stream, Bytes to, Bytes from) {
  check(stream);
  XDC_CHECK_MSG(to.size == from.size, "a copy between different sizes");
  check_real(to);
  check_real(from);
  XDC_CHECK_MSG(!overlap(to, from), "a copy between overlapping memory");
  if (to.size > 0) {
    std::memcpy(to.data, from.data, to.size);
  }
}

void CpuDevice::clear(Stream stream, Bytes to) {
  check(stream);
  check_real(to);
  if (to.size > 0) {
    std::memset(to.data, 0, to.size);
  }
}

Event CpuDevice::record(Stream stream) {
  check(stream);
  return {++events_};
}

void CpuDevice::stream_wait(Stream stream, Event event) {
  check(stream);
  check(event);
}

Status CpuDevice::wait(Event event, Deadline) {
  check(event);
  return ok_status();
}

void CpuDevice::charge(Stream stream, Cost cost) {
  check(stream);
  XDC_CHECK(cost.flops >= 0 && cost.bytes >= 0);
}

std::optional<float> CpuDevice::read_scalar(Stream stream, Tensor scalar) {
  check(stream);
  XDC_CHECK(scalar.dtype == DType::f32 && scalar.elements() == 1);
  check_real(scalar.bytes);
  float value = 0;
  std::memcpy(&value, scalar.bytes.data, sizeof value);
  return value;
}

void CpuDevice::check(Stream stream) const { XDC_CHECK_MSG(stream.id > 0 && stream.id <= streams_, "no such stream on this device"); }

void CpuDevice::check(Event event) const { XDC_CHECK_MSG(event.id > 0 && event.id <= events_, "no such event on this device"); }

}  // namespace xdc
