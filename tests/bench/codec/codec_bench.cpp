// How many GB of f32 a second does one core encode and decode, beside copying them? A gradient of 64 MB, each figure the best of
// several runs.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <vector>

#include "core/base/rng.hpp"
#include "core/codec/codec.hpp"
#include "core/math/cpu_kernels.hpp"

namespace {

using namespace xdc;

constexpr int64_t kElements = 16 << 20;
constexpr int kRuns = 7;

Tensor tensor_of(std::vector<float>& values) {
  return Tensor::flat({Space::host, reinterpret_cast<std::byte*>(values.data()), values.size() * sizeof(float)}, DType::f32,
                      static_cast<int64_t>(values.size()));
}

// GB of f32 a second.
double rate(const std::function<void()>& body) {
  double best = 1e9;
  for (int run = 0; run < kRuns; ++run) {
    const auto start = std::chrono::steady_clock::now();
    body();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return static_cast<double>(kElements) * sizeof(float) / best / 1e9;
}

}  // namespace

int main() {
  CpuKernels kernels;
  std::vector<float> x(kElements), y(kElements), before(kElements), after(kElements);
  RandomStream random(1, "bench/codec");
  for (float& one : x) {
    one = static_cast<float>(random.normal());
  }
  std::vector<float> wire(kElements * 2);
  fmt::print("{:<44}{:>10}{:>10}\n", "GB of f32 a second, one core", "encode", "decode");
  const double copied = rate([&] { std::memcpy(y.data(), x.data(), x.size() * sizeof(float)); });
  fmt::print("{:<44}{:>10.2f}{:>10.2f}\n", "memcpy", copied, copied);
  const std::vector<std::pair<const char*, CodecSpec>> codecs{
      {"fp16", {CodecKind::fp16}},
      {"bf16", {CodecKind::bf16}},
      {"int8 nearest", {CodecKind::int8}},
      {"int8 nearest, error feedback", {CodecKind::int8, Rounding::nearest, 0, true}},
      {"int8 stochastic", {CodecKind::int8, Rounding::stochastic}},
      {"int8 stochastic, error feedback", {CodecKind::int8, Rounding::stochastic, 0, true}},
      {"top_k of 10 %", {CodecKind::top_k, Rounding::nearest, 0.1}},
      {"top_k of 1 %", {CodecKind::top_k, Rounding::nearest, 0.01}},
      {"top_k of 1 %, error feedback", {CodecKind::top_k, Rounding::nearest, 0.01, true}},
  };
  for (const auto& [name, codec] : codecs) {
    const Bytes bytes{Space::host, reinterpret_cast<std::byte*>(wire.data()), static_cast<size_t>(encoded_bytes(codec, kElements))};
    EncodeArgs args;
    args.codec = codec;
    args.x = tensor_of(x);
    args.wire = bytes;
    if (codec.error_feedback) {
      args.residual_in = tensor_of(before);
      args.residual_out = tensor_of(after);
    }
    const double encode = rate([&] { kernels.encode({}, args); });
    const double decode = rate([&, &kind = codec] { XDC_CHECK(kernels.decode({}, kind, bytes, tensor_of(y)).ok()); });
    fmt::print("{:<44}{:>10.2f}{:>10.2f}\n", name, encode, decode);
  }
  return 0;
}
