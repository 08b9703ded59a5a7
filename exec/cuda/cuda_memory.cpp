#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <limits>

#include "core/base/quantity.hpp"
#include "exec/cuda/cuda_device.hpp"
#include "exec/cuda/cuda_error.hpp"

namespace xdc {
namespace {

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
  const cudaStream_t own = native_stream(clearing_);
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

}  // namespace xdc
