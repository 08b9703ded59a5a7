// Which points of one CUDA stream are behind us? Numbers every point recorded and reuses CUDA events once they are done.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"

namespace xdc {

// A core Event is a plain number that nobody gives back, a CUDA event is a resource. Points of one stream finish in the
// order of their numbers, so those behind the oldest unfinished one need no CUDA event any more.
// Not synchronised: the device holds its lock around every call, and has made itself the thread's current device.
class CudaStream {
 public:
  // Errors: failed.
  static Result<CudaStream> create(std::string_view name);
  CudaStream(CudaStream&& other) noexcept;
  CudaStream& operator=(CudaStream&&) = delete;
  // Requirement: nothing uses the stream any more; waits for what is enqueued.
  ~CudaStream();

  const std::string& name() const { return name_; }
  cudaStream_t native() const { return native_; }
  // Where read_scalar lands: pinned, one float, used by the lane that uses the stream.
  float* scalar() const { return scalar_; }

  // Returns the number of a new point, from 1. Errors: failed.
  Result<uint64_t> record();
  // Requires 1 <= number <= last recorded. Errors: failed, the device's error of earlier work.
  Result<bool> finished(uint64_t number);
  // Work enqueued on `other` from now on starts after the point. Requires a recorded number.
  Status hold_back(cudaStream_t other, uint64_t number);

  // How many CUDA events exist for this stream: bounded by the unfinished points, not by those ever recorded.
  size_t events_made() const { return pending_.size() + spare_.size(); }

 private:
  CudaStream() = default;
  Status forget_finished();

  struct Point {
    uint64_t number;
    cudaEvent_t event;
  };

  std::string name_;
  cudaStream_t native_ = nullptr;
  float* scalar_ = nullptr;
  uint64_t recorded_ = 0;
  std::deque<Point> pending_;  // ascending; all numbers below the first are finished
  std::vector<cudaEvent_t> spare_;
};

}  // namespace xdc
