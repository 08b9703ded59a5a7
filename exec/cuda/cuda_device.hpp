// How does a GPU keep the seam's promises about memory, copies, streams and events?
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "core/seam/clock.hpp"
#include "core/seam/device.hpp"
#include "exec/cuda/cuda_stream.hpp"

namespace xdc {

// Everything of Device except arithmetic: kernels() stays pure, so no object exists that could be asked for arithmetic
// and had none. The class that owns the kernels derives from this one and hands them native_stream().
//
// Payload is always real: a rehearsal runs on the host device, with no GPU at all (README).
// Errors are sticky, as CUDA's are: the first one is kept, later work is not enqueued, and every wait() returns it.
class CudaDeviceBase : public Device {
 public:
  ~CudaDeviceBase() override;
  CudaDeviceBase(const CudaDeviceBase&) = delete;
  CudaDeviceBase& operator=(const CudaDeviceBase&) = delete;

  std::string name() const override { return name_; }
  Result<std::unique_ptr<Buffer>> allocate(Space space, size_t size) override;
  Stream make_stream(std::string_view name) override;
  void copy(Stream stream, Bytes to, Bytes from) override;
  void clear(Stream stream, Bytes to) override;
  Event record(Stream stream) override;
  void stream_wait(Stream stream, Event event) override;
  Status wait(Event event, Deadline deadline) override;
  // Time passes by itself here.
  void charge(Stream /*stream*/, Cost /*cost*/) override {}
  // Where the device has failed: not a number, and the next wait() says why.
  std::optional<float> read_scalar(Stream stream, Tensor scalar) override;

  // For kernels and collectives: what they enqueue there is ordered like everything else on the stream.
  cudaStream_t native_stream(Stream stream);
  // wait() without waiting.
  Result<bool> finished(Event event);
  // Notes an error of work enqueued on native_stream(); the first error stays.
  void note(const Status& status);
  // The first error, if there was one.
  Status health();
  // Makes this device the calling thread's current one. Errors: failed.
  Status make_current();
  int index() const { return index_; }
  Clock& clock() { return clock_; }

  size_t device_bytes_in_use() const { return device_bytes_; }
  size_t pinned_bytes_in_use() const { return pinned_bytes_; }

 protected:
  // `owner` is what messages call the member: "beijing rank 3". Requires open_cuda_device() to have succeeded for `index`.
  CudaDeviceBase(int index, std::string owner, Clock& clock);

 private:
  friend class CudaBuffer;
  void release(Space space, void* at, size_t size);
  Status zero(void* at, size_t size);
  Error out_of_memory(cudaError_t code, Space space, size_t size);
  CudaStream* usable(Stream stream);  // nullptr once the device has failed; needs mutex_
  void note_locked(const Status& status);

  const int index_;
  const std::string owner_;
  std::string name_;
  Clock& clock_;
  Stream clearing_;  // new memory is cleared on it
  std::atomic<size_t> device_bytes_ = 0;
  std::atomic<size_t> pinned_bytes_ = 0;

  std::mutex mutex_;  // guards what follows
  std::deque<std::optional<CudaStream>> streams_;
  Status first_error_;
};

// Says whether device `index` can be used, and wakes it: later calls then do not fail for that. Errors: unsupported.
Status open_cuda_device(int index);

}  // namespace xdc
