// What is in a tensor? For the CPU, which is the device: it may touch memory tagged `device`, host code elsewhere may not.
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>

#include "core/base/check.hpp"
#include "core/seam/bytes.hpp"

namespace xdc {

template <class T>
constexpr DType dtype_of() {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, int32_t>);
  return std::is_same_v<T, float> ? DType::f32 : DType::i32;
}

template <class T>
std::span<T> data_of(const Tensor& tensor) {
  const auto n = static_cast<size_t>(tensor.elements());
  XDC_CHECK_MSG(tensor.dtype == dtype_of<T>(), "a tensor of another type was expected");
  XDC_CHECK_MSG(!tensor.bytes.phantom() || n == 0, "arithmetic on a phantom");
  XDC_CHECK(tensor.bytes.size == n * sizeof(T));
  XDC_CHECK(reinterpret_cast<uintptr_t>(tensor.bytes.data) % alignof(T) == 0);
  return {reinterpret_cast<T*>(tensor.bytes.data), n};
}

// The same, of exactly `elements`.
template <class T>
std::span<T> data_of(const Tensor& tensor, int64_t elements) {
  XDC_CHECK_MSG(tensor.elements() == elements, "a tensor of another size was expected");
  return data_of<T>(tensor);
}

}  // namespace xdc
