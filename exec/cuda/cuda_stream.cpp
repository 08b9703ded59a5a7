#include "exec/cuda/cuda_stream.hpp"

#include <fmt/format.h>

#include <utility>

#include "exec/cuda/cuda_error.hpp"

namespace xdc {

Result<CudaStream> CudaStream::create(std::string_view name) {
  CudaStream made;
  made.name_ = name;
  // Non-blocking: CUDA's default stream, which some libraries use, must not order our streams behind each other.
  XDC_TRY(cuda_status(cudaStreamCreateWithFlags(&made.native_, cudaStreamNonBlocking), fmt::format("making stream '{}'", name)));
  void* scalar = nullptr;
  XDC_TRY(cuda_status(cudaMallocHost(&scalar, sizeof(float)), fmt::format("pinned memory for stream '{}'", name)));
  made.scalar_ = static_cast<float*>(scalar);
  return made;
}

CudaStream::CudaStream(CudaStream&& other) noexcept
    : name_(std::move(other.name_)),
      native_(std::exchange(other.native_, nullptr)),
      scalar_(std::exchange(other.scalar_, nullptr)),
      recorded_(other.recorded_),
      pending_(std::exchange(other.pending_, {})),
      spare_(std::exchange(other.spare_, {})) {}

CudaStream::~CudaStream() {
  // A device that reported an error refuses these calls too: whoever waited has been told, and the process is leaving.
  if (native_ != nullptr) {
    static_cast<void>(cudaStreamSynchronize(native_));
  }
  for (const auto& point : pending_) {
    static_cast<void>(cudaEventDestroy(point.event));
  }
  for (auto* event : spare_) {
    static_cast<void>(cudaEventDestroy(event));
  }
  if (scalar_ != nullptr) {
    static_cast<void>(cudaFreeHost(scalar_));
  }
  if (native_ != nullptr) {
    static_cast<void>(cudaStreamDestroy(native_));
  }
}

Result<uint64_t> CudaStream::record() {
  XDC_TRY(forget_finished());
  cudaEvent_t event = nullptr;
  if (spare_.empty()) {
    // Without timing an event is cheaper to record and to ask.
    XDC_TRY(cuda_status(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), fmt::format("making an event for stream '{}'", name_)));
  } else {
    event = spare_.back();
    spare_.pop_back();
  }
  const Status recorded = cuda_status(cudaEventRecord(event, native_), fmt::format("recording an event on stream '{}'", name_));
  if (!recorded.ok()) {
    spare_.push_back(event);
    return recorded.error();
  }
  pending_.push_back({++recorded_, event});
  return recorded_;
}

Result<bool> CudaStream::finished(uint64_t number) {
  XDC_CHECK_MSG(number >= 1 && number <= recorded_, "an event that was never recorded");
  XDC_TRY(forget_finished());
  return pending_.empty() || number < pending_.front().number;
}

Status CudaStream::hold_back(cudaStream_t other, uint64_t number) {
  XDC_TRY_ASSIGN(const bool already, finished(number));
  if (already) {
    return ok_status();
  }
  const cudaEvent_t event = pending_[static_cast<size_t>(number - pending_.front().number)].event;
  // CUDA notes the point now: recording the event anew later does not move what `other` waits for.
  return cuda_status(cudaStreamWaitEvent(other, event, 0), fmt::format("waiting for an event of stream '{}'", name_));
}

Status CudaStream::forget_finished() {
  while (!pending_.empty()) {
    const cudaError_t asked = cudaEventQuery(pending_.front().event);
    if (asked == cudaErrorNotReady) {
      return ok_status();
    }
    XDC_TRY(cuda_status(asked, fmt::format("work on stream '{}'", name_)));
    spare_.push_back(pending_.front().event);
    pending_.pop_front();
  }
  return ok_status();
}

}  // namespace xdc
