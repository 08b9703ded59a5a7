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

// An Event carries its stream (from 1, so that Event{} names none) above the number of the point.
constexpr int kNumberBits = 40;
constexpr uint64_t kNumberMask = (uint64_t{1} << kNumberBits) - 1;

Event make_event(Stream stream, uint64_t number) {
  XDC_CHECK(number <= kNumberMask);
  return {(static_cast<uint64_t>(stream.id + 1) << kNumberBits) | number};
}
Stream stream_of(Event event) {
  XDC_CHECK_MSG(event.id > kNumberMask, "an event that was never recorded");
  return {static_cast<int>(event.id >> kNumberBits) - 1};
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

const char* space_name(Space space) {
  switch (space) {
    case Space::host:
      return "host";
    case Space::pinned:
      return "pinned host";
    case Space::device:
      return "device";
  }
  return "unknown";
}

}  // namespace

class CudaBuffer final : public Buffer {
 public:
  CudaBuffer(CudaDeviceBase& device, Space space, void* at, size_t size) : device_(device), space_(space), at_(at), size_(size) {}
  CudaBuffer(const CudaBuffer&) = delete;
  CudaBuffer& operator=(const CudaBuffer&) = delete;
  ~CudaBuffer() override { device_.release(space_, at_, size_); }
  Bytes bytes() const override { return {space_, static_cast<std::byte*>(at_), size_}; }

 private:
  CudaDeviceBase& device_;
  const Space space_;
  void* const at_;
  const size_t size_;
};

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
  // Stream 0 is the device's own: new memory is cleared on it.
  make_stream("memory");
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
  XDC_CHECK_MSG(stream.id >= 0 && stream.id < static_cast<int>(streams_.size()), "a stream of another device");
  note_locked(make_current());
  auto& found = streams_[static_cast<size_t>(stream.id)];
  return first_error_.ok() && found.has_value() ? &*found : nullptr;
}

Result<std::unique_ptr<Buffer>> CudaDeviceBase::allocate(Space space, size_t size) {
  XDC_TRY(health());
  XDC_TRY(make_current());
  // Never nothing: a buffer without an address would read as a phantom.
  const size_t granted = size == 0 ? 1 : size;
  void* at = nullptr;
  cudaError_t code = cudaSuccess;
  switch (space) {
    case Space::host: {
      constexpr size_t kAlignment = 64;
      if (granted <= std::numeric_limits<size_t>::max() - kAlignment) {
        at = std::aligned_alloc(kAlignment, (granted + kAlignment - 1) / kAlignment * kAlignment);
      }
      code = at == nullptr ? cudaErrorMemoryAllocation : cudaSuccess;
      break;
    }
    case Space::pinned:
      code = cudaMallocHost(&at, granted);
      break;
    case Space::device:
      code = cudaMalloc(&at, granted);
      break;
  }
  if (code != cudaSuccess) {
    return out_of_memory(code, space, size);
  }
  if (space != Space::device) {
    std::memset(at, 0, granted);
  }
  device_bytes_ += space == Space::device ? size : 0;
  pinned_bytes_ += space == Space::pinned ? size : 0;
  auto buffer = std::make_unique<CudaBuffer>(*this, space, at, size);
  if (space == Space::device) {
    XDC_TRY(zero(at, granted));
  }
  return std::unique_ptr<Buffer>(std::move(buffer));
}

// Finished at return: the buffer may be used on any stream at once, and streams do not wait for each other by themselves.
Status CudaDeviceBase::zero(void* at, size_t size) {
  const cudaStream_t own = native_stream({0});
  XDC_TRY(health());
  Status cleared = cuda_status(cudaMemsetAsync(at, 0, size, own), "clearing new memory");
  if (cleared.ok()) {
    cleared = cuda_status(cudaStreamSynchronize(own), "clearing new memory");
  }
  note(cleared);
  return health();
}

Error CudaDeviceBase::out_of_memory(cudaError_t code, Space space, size_t size) {
  static_cast<void>(cudaGetLastError());  // CUDA keeps the code for the next caller to ask; this one has been dealt with
  size_t free = 0;
  size_t total = 0;
  const bool told = cudaMemGetInfo(&free, &total) == cudaSuccess;
  const auto room =
      told ? fmt::format("; free on the device {} of {}", format_bytes(static_cast<double>(free)), format_bytes(static_cast<double>(total)))
           : std::string();
  return cuda_error(
      code, fmt::format("{}: GPU {} ({}): {} of {} memory asked for; in use by this member: device {}, pinned {}{}", owner_, index_, name_,
                        format_bytes(static_cast<double>(size)), space_name(space), format_bytes(static_cast<double>(device_bytes_.load())),
                        format_bytes(static_cast<double>(pinned_bytes_.load())), room));
}

void CudaDeviceBase::release(Space space, void* at, size_t size) {
  switch (space) {
    case Space::host:
      std::free(at);
      return;
    case Space::pinned:
      note(make_current());
      note(cuda_status(cudaFreeHost(at), "giving back pinned memory"));
      pinned_bytes_ -= size;
      return;
    case Space::device:
      note(make_current());
      note(cuda_status(cudaFree(at), "giving back device memory"));
      device_bytes_ -= size;
      return;
  }
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
  return {static_cast<int>(streams_.size()) - 1};
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
  const auto& of = streams_[static_cast<size_t>(stream_of(event).id)];
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
