// What is a device of the simulated world? Memory that really is this computer's, streams that are nothing but the time at
// which they are ready, and the CPU's arithmetic. Time passes on a stream only by charge().
//
// It is stricter than a real one: it knows which memory is still being written by which stream, and stops a run that sends,
// reduces or reads it too early. A phantom has no address, so only real payloads are watched; the code is the same.
//
// Decided: streams of one device do not slow each other down; copy() and clear() take no time of themselves, as kernels do
// not: what is charged is the caller's decision.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/topology.hpp"
#include "core/seam/device.hpp"
#include "core/seam/kernels.hpp"
#include "core/validate/run_spec.hpp"
#include "sim/clock.hpp"

namespace xdc {

class SimDevice final : public Device {
 public:
  // `arithmetic` is shared by all devices of the world; it is not called in a phantom run.
  SimDevice(SimClock& clock, DeviceSpec spec, PayloadKind payload, Kernels& arithmetic, std::string owner);
  ~SimDevice() override;

  std::string name() const override { return spec_.name; }
  Result<std::unique_ptr<Buffer>> allocate(Space space, size_t size) override;
  Stream make_stream(std::string_view name) override;
  void copy(Stream stream, Bytes to, Bytes from) override;
  void clear(Stream stream, Bytes to) override;
  Event record(Stream stream) override;
  void stream_wait(Stream stream, Event event) override;
  Status wait(Event event, Deadline deadline) override;
  void charge(Stream stream, Cost cost) override;
  Kernels& kernels() override { return *kernels_; }
  std::optional<float> read_scalar(Stream stream, Tensor scalar) override;

  // Tells of every charge.
  void watch(std::function<void(std::string_view stream, TimePoint start, TimePoint end)> watcher) { watcher_ = std::move(watcher); }

  // Without the watching: for those who have waited.
  Kernels& arithmetic() { return arithmetic_; }

  // `bytes` are complete when what stands on `stream` now is done.
  void written(Stream stream, Bytes bytes);
  // The run stops if `bytes` may not be read by what is enqueued on `stream` next, or by the host now ("sent", "reduced").
  void check_readable(Stream stream, Bytes bytes);
  void check_finished(Bytes bytes, const char* used_for);

  size_t device_bytes_in_use() const { return in_use_; }

 private:
  friend class SimBuffer;
  struct StreamState {
    std::string name;
    TimePoint ready_at;
  };
  struct Unfinished {
    const std::byte* begin;
    const std::byte* end;
    TimePoint ready_at;
    int stream;
  };
  StreamState& state(Stream stream);
  const Unfinished* unfinished_after(Bytes bytes, TimePoint t);

  SimClock& clock_;
  DeviceSpec spec_;
  PayloadKind payload_;
  Kernels& arithmetic_;
  std::unique_ptr<Kernels> kernels_;
  std::string owner_;
  std::vector<StreamState> streams_;
  std::vector<Unfinished> unfinished_;
  size_t in_use_ = 0;
  std::function<void(std::string_view, TimePoint, TimePoint)> watcher_;
};

// `arithmetic` with every operand reported to `device`.
std::unique_ptr<Kernels> watched_kernels(SimDevice& device, Kernels& arithmetic);

}  // namespace xdc
