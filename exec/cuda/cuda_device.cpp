#include "exec/cuda/cuda_device.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <limits>

#include "core/base/quantity.hpp"
#include "exec/cuda/cuda_error.hpp"
#include "exec/cuda/poll.hpp"

namespace xdc {
namespace {

// An Event carries its stream above the number of the point. Streams count from 1, so Stream{} and Event{} name none.
constexpr int kNumberBits = 40;
constexpr uint64_t kNumberMask = (uint64_t{1} << kNumberBits) - 1;

Event make_event(Stream stream, uint64_t number) {
  XDC_CHECK(number <= kNumberMask);
  return {(static_cast<uint64_t>(stream.id) << kNumberBits) | number};
}
Stream stream_of(Event event) {
  XDC_CHECK_MSG(event.id > kNumberMask, "an event that was never recorded");
  return {static_cast<int>(event.id >> kNumberBits)};
}
uint64_t number_of(Event event) { return event.id & kNumberMask; }

// The point that record() returns once the device has failed: every wait for it fails before it is looked at.
constexpr uint64_t kNeverReached = 0;

cudaMemcpyKind copy_kind(Space to, Space from) {
  if (to == Space::device) {
    return from == Space::device ? cudaMemcpyDeviceToDevice : cudaMemcpyHostToDevice;
  }
  return from == Space::device ? cudaMemcpyDeviceToHost : cudaMemcpyHostToHost;
}

bool overlap(const Bytes& a, const Bytes& b) { return a.data < b.data + b.size && b.data < a.data + a.size; }

}  // namespace

Status open_cuda_device(int index) {
  int count = 0;
  const cudaError_t counted = cudaGetDeviceCount(&count);
  if (counted != cudaSuccess) {
    return Error{ErrorCode::unsupported, fmt::format("no usable CUDA device: {}", cudaGetErrorString(counted))};
  }
  if (index < 0 || index >= count) {
    return Error{ErrorCode::unsupported, fmt::format("there is no GPU {} here: {} in all", index, count)};
  }
  const cudaError_t set = cudaSetDevice(index);
  // Creates the context now, where a failure can still be told apart from one in the middle of training.
  const cudaError_t woken = set == cudaSuccess ? cudaFree(nullptr) : set;
  if (woken != cudaSuccess) {
    return Error{ErrorCode::unsupported, fmt::format("GPU {} cannot be used: {}", index, cudaGetErrorString(woken))};
  }
  return ok_status();
}

CudaDeviceBase::CudaDeviceBase(int index, std::string owner, Clock& clock) : index_(index), owner_(std::move(owner)), clock_(clock) {
  cudaDeviceProp properties{};
  note(cuda_status(cudaGetDeviceProperties(&properties, index), "asking for the device's properties"));
  name_ = properties.name;
  clearing_ = make_stream("memory");
}

CudaDeviceBase::~CudaDeviceBase() {
  static_cast<void>(make_current());
  XDC_CHECK_MSG(device_bytes_ == 0 && pinned_bytes_ == 0, "a buffer outlives its device");
}

Status CudaDeviceBase::make_current() { return cuda_status(cudaSetDevice(index_), fmt::format("choosing GPU {}", index_)); }

void CudaDeviceBase::note(const Status& status) {
  if (!status.ok()) {
    const std::lock_guard lock(mutex_);
    note_locked(status);
  }
}

void CudaDeviceBase::note_locked(const Status& status) {
  if (!status.ok() && first_error_.ok()) {
    first_error_ = with_context(status.error(), fmt::format("{}: GPU {} ({})", owner_, index_, name_));
  }
}

Status CudaDeviceBase::health() {
  const std::lock_guard lock(mutex_);
  return first_error_;
}

CudaStream* CudaDeviceBase::usable(Stream stream) {
  XDC_CHECK_MSG(stream.id >= 1 && stream.id <= static_cast<int>(streams_.size()), "no such stream on this device");
  note_locked(make_current());
  auto& found = streams_[static_cast<size_t>(stream.id - 1)];
  return first_error_.ok() && found.has_value() ? &*found : nullptr;
}

Stream CudaDeviceBase::make_stream(std::string_view name) {
  const std::lock_guard lock(mutex_);
  note_locked(make_current());
  auto made = first_error_.ok() ? CudaStream::create(name) : Result<CudaStream>(first_error_.error());
  note_locked(made.status());
  // The number is given in any case: the caller's first wait() returns the error.
  if (made.ok()) {
    streams_.emplace_back(std::move(made).value());
  } else {
    streams_.emplace_back(std::nullopt);
  }
  return {static_cast<int>(streams_.size())};
}

cudaStream_t CudaDeviceBase::native_stream(Stream stream) {
  const std::lock_guard lock(mutex_);
  const auto* found = usable(stream);
  return found == nullptr ? nullptr : found->native();
}

void CudaDeviceBase::copy(Stream stream, Bytes to, Bytes from) {
  XDC_CHECK_MSG(to.size == from.size, "a copy between different sizes");
  if (to.size == 0) {
    return;
  }
  XDC_CHECK_MSG(!to.phantom() && !from.phantom(), "a phantom on a real device");
  XDC_CHECK_MSG(!overlap(to, from), "a copy onto itself");
  const std::lock_guard lock(mutex_);
  if (const auto* on = usable(stream); on != nullptr) {
    note_locked(cuda_status(cudaMemcpyAsync(to.data, from.data, to.size, copy_kind(to.space, from.space), on->native()),
                            fmt::format("copying {} on stream '{}'", format_bytes(static_cast<double>(to.size)), on->name())));
  }
}

void CudaDeviceBase::clear(Stream stream, Bytes to) {
  if (to.size == 0) {
    return;
  }
  XDC_CHECK_MSG(!to.phantom(), "a phantom on a real device");
  const std::lock_guard lock(mutex_);
  const auto* on = usable(stream);
  if (on == nullptr) {
    return;
  }
  if (to.space != Space::host) {
    note_locked(cuda_status(cudaMemsetAsync(to.data, 0, to.size, on->native()), fmt::format("clearing on stream '{}'", on->name())));
    return;
  }
  // CUDA clears only memory it knows; for pageable memory the stream calls back.
  struct Job {
    Bytes to;
  };
  auto job = std::make_unique<Job>(Job{to});
  const auto run = [](void* argument) {
    const std::unique_ptr<Job> mine(static_cast<Job*>(argument));
    std::memset(mine->to.data, 0, mine->to.size);
  };
  const Status enqueued = cuda_status(cudaLaunchHostFunc(on->native(), run, job.get()), fmt::format("clearing on stream '{}'", on->name()));
  if (enqueued.ok()) {
    static_cast<void>(job.release());  // the callback's now
  }
  note_locked(enqueued);
}

Event CudaDeviceBase::record(Stream stream) {
  const std::lock_guard lock(mutex_);
  auto* on = usable(stream);
  if (on == nullptr) {
    return make_event(stream, kNeverReached);
  }
  const auto number = on->record();
  note_locked(number.status());
  return make_event(stream, number.ok() ? number.value() : kNeverReached);
}

void CudaDeviceBase::stream_wait(Stream stream, Event event) {
  const std::lock_guard lock(mutex_);
  const auto* waiting = usable(stream);
  auto* of = usable(stream_of(event));
  if (waiting != nullptr && of != nullptr) {
    note_locked(of->hold_back(waiting->native(), number_of(event)));
  }
}

Result<bool> CudaDeviceBase::finished(Event event) {
  const std::lock_guard lock(mutex_);
  auto* of = usable(stream_of(event));
  if (of != nullptr) {
    auto answer = of->finished(number_of(event));
    note_locked(answer.status());
    if (answer.ok()) {
      return answer;
    }
  }
  return first_error_.error();
}

Status CudaDeviceBase::wait(Event event, Deadline deadline) {
  const Status waited = poll_until(clock_, deadline, [&] { return finished(event); });
  if (waited.ok() || waited.error().code != ErrorCode::timeout) {
    return waited;
  }
  const std::lock_guard lock(mutex_);
  const auto& of = streams_[static_cast<size_t>(stream_of(event).id - 1)];
  return with_context(waited.error(), fmt::format("{}: waiting for work on stream '{}' of GPU {} ({})", owner_,
                                                  of.has_value() ? of->name() : "?", index_, name_));
}

std::optional<float> CudaDeviceBase::read_scalar(Stream stream, Tensor scalar) {
  XDC_CHECK_MSG(scalar.dtype == DType::f32 && scalar.elements() == 1, "read_scalar reads one f32");
  float* landing = nullptr;
  {
    const std::lock_guard lock(mutex_);
    const auto* on = usable(stream);
    landing = on == nullptr ? nullptr : on->scalar();
  }
  if (landing == nullptr) {
    return std::numeric_limits<float>::quiet_NaN();
  }
  copy(stream, {Space::pinned, reinterpret_cast<std::byte*>(landing), sizeof(float)}, scalar.bytes);
  return wait(record(stream), kNoDeadline).ok() ? *landing : std::numeric_limits<float>::quiet_NaN();
}

}  // namespace xdc
