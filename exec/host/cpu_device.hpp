// Where do tensors live on a machine without an accelerator? In host memory; work is done when the call returns.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "core/seam/device.hpp"

namespace xdc {

// As strict as the simulator where that costs nothing: memory keeps its Space tag (host code that touches `device` memory
// through Bytes::host() fails a check), sizes must match, copies must not overlap, streams and events must exist.
class CpuDevice final : public Device {
 public:
  // `kernels` is borrowed and outlives the device.
  CpuDevice(std::string name, Kernels& kernels) : name_(std::move(name)), kernels_(kernels) {}
  ~CpuDevice() override;

  std::string name() const override { return name_; }
  Result<std::unique_ptr<Buffer>> allocate(Space space, size_t size) override;
  Stream make_stream(std::string_view name) override;
  void copy(Stream stream, Bytes to, Bytes from) override;
  void clear(Stream stream, Bytes to) override;
  Event record(Stream stream) override;
  void stream_wait(Stream stream, Event event) override;
  Status wait(Event event, Deadline deadline) override;
  void charge(Stream stream, Cost cost) override;
  Kernels& kernels() override { return kernels_; }
  std::optional<float> read_scalar(Stream stream, Tensor scalar) override;

 private:
  friend class CpuBuffer;
  void check(Stream stream) const;
  void check(Event event) const;

  std::string name_;
  Kernels& kernels_;
  std::atomic<int> streams_{0};
  std::atomic<uint64_t> events_{0};
  std::atomic<size_t> bytes_in_use_{0};
};

}  // namespace xdc
