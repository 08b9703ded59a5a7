// Where do the tensors of a rehearsal live, and how long does its arithmetic take? Nowhere, and as long as is modelled: the lane that waits
// for a stream sleeps until the work charged to it would be done.
#pragma once

#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "core/seam/clock.hpp"
#include "core/seam/device.hpp"

namespace xdc {

// `device` memory is phantom and takes none; host and pinned memory is real, for counts and control. A computation takes
// max(flops / flops_per_s, bytes / memory_bandwidth), from the end of what its stream has to do before, as in the simulator; streams do not
// slow each other down.
class RehearsalDevice final : public Device {
 public:
  struct Model {
    std::string name;  // "a100_80g"
    double flops_per_s = 0;
    double memory_bandwidth = 0;  // bytes per second
    // False: computations take no time, so that what is left of a step is the exchange and this program's own logic.
    bool waits = true;
  };

  // `kernels` do nothing (NullKernels). Clock and kernels are borrowed and outlive the device.
  RehearsalDevice(Model model, Clock& clock, Kernels& kernels);

  std::string name() const override { return model_.name; }
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
  TimePoint& ready_at(Stream stream);  // under the lock

  const Model model_;
  Clock& clock_;
  Kernels& kernels_;
  std::mutex mutex_;
  std::deque<TimePoint> ready_at_;  // by stream
};

}  // namespace xdc
