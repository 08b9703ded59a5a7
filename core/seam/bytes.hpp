// What is handed across the seam? Borrowed bytes, and tensors over them. Nothing here owns memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/check.hpp"

namespace xdc {

enum class Space : uint8_t {
  host,    // pageable host memory
  pinned,  // host memory a device can copy from and to asynchronously
  device,  // only kernels and Device::copy may touch it
};

// A run's payload is either real or phantom. A phantom has a place and a size but no contents (data == nullptr):
// every path of the code is the same, arithmetic is skipped, time and bytes are charged as if it were real.
struct Bytes {
  Space space = Space::host;
  std::byte* data = nullptr;
  size_t size = 0;

  bool phantom() const { return data == nullptr; }

  Bytes slice(size_t at, size_t n) const {
    XDC_CHECK(at <= size && n <= size - at);
    return {space, data == nullptr ? nullptr : data + at, n};
  }

  // Host code reads and writes through this and through nothing else; device memory refuses.
  std::span<std::byte> host() const {
    XDC_CHECK_MSG(space != Space::device, "host code touches device memory");
    XDC_CHECK_MSG(data != nullptr || size == 0, "host code touches a phantom");
    return {data, size};
  }
};

enum class DType : uint8_t { f32, f16, bf16, i8, u8, i32, i64 };

constexpr size_t size_of(DType t) {
  switch (t) {
    case DType::f32:
    case DType::i32:
      return 4;
    case DType::f16:
    case DType::bf16:
      return 2;
    case DType::i8:
    case DType::u8:
      return 1;
    case DType::i64:
      return 8;
  }
  return 0;
}

// Dense, row-major; unused trailing dimensions are 1.
struct Tensor {
  Bytes bytes;
  DType dtype = DType::f32;
  std::array<int64_t, 4> shape{0, 1, 1, 1};

  int64_t elements() const { return shape[0] * shape[1] * shape[2] * shape[3]; }

  // A flat view of n elements over bytes. Requires bytes.size == n * size_of(dtype).
  static Tensor flat(Bytes bytes, DType dtype, int64_t n) {
    XDC_CHECK(n >= 0 && bytes.size == static_cast<size_t>(n) * size_of(dtype));
    return {bytes, dtype, {n, 1, 1, 1}};
  }

  // Elements [at, at + n) of the flat order.
  Tensor range(int64_t at, int64_t n) const {
    const auto width = size_of(dtype);
    return flat(bytes.slice(static_cast<size_t>(at) * width, static_cast<size_t>(n) * width), dtype, n);
  }
};

}  // namespace xdc
