// Unpacks tensors and calls the loops.
#include "core/math/cpu_kernels.hpp"

#include <cstring>
#include <oneapi/dnnl/dnnl.hpp>

#include "core/math/codec_blocks.hpp"
#include "core/math/cpu_network.hpp"
#include "core/math/elementwise.hpp"
#include "core/math/numerics.hpp"
#include "core/math/tensor_data.hpp"

namespace xdc {
namespace {

// Where a wire begins, after the checks: its size, and the alignment of what stands in it.
std::byte* wire_of(Bytes wire, int64_t size, size_t alignment) {
  XDC_CHECK_MSG(!wire.phantom() || size == 0, "arithmetic on a phantom");
  XDC_CHECK_MSG(wire.size == static_cast<size_t>(size), "a wire of another size was expected");
  XDC_CHECK(reinterpret_cast<uintptr_t>(wire.data) % alignment == 0);
  return wire.data;
}

int64_t int8_wire_bytes(int64_t n) { return n + 4 * ((n + kCodecBlock - 1) / kCodecBlock); }

void copy_bytes(void* to, const void* from, size_t size) {
  if (size > 0) {
    std::memcpy(to, from, size);
  }
}

}  // namespace

struct CpuKernels::Engine {
  dnnl::engine engine;
};

CpuKernels::CpuKernels() {
  (void)pin_numerics(CpuNumerics::portable);  // fails where `native` was asked for before: that stands
  engine_ = std::make_unique<Engine>(Engine{dnnl::engine(dnnl::engine::kind::cpu, 0)});
}

CpuKernels::~CpuKernels() = default;

Result<std::unique_ptr<Network>> CpuKernels::compile(const NetworkSpec& spec, int batch) {
  return CpuNetwork::make(engine_->engine, spec, batch);
}

void CpuKernels::add(Stream, Tensor y, Tensor x) { add_elements(data_of<float>(y), data_of<float>(x)); }

void CpuKernels::scale(Stream, Tensor y, float a) { scale_elements(data_of<float>(y), a); }

void CpuKernels::adam(Stream, const AdamArgs& args) {
  const AdamFactors factors =
      adam_factors(args.step, args.learning_rate, args.beta1, args.beta2, args.epsilon, args.weight_decay, args.decoupled);
  adam_elements(factors, data_of<float>(args.parameters_in), data_of<float>(args.gradient), data_of<float>(args.m_in),
                data_of<float>(args.v_in), data_of<float>(args.parameters_out), data_of<float>(args.m_out), data_of<float>(args.v_out));
}

void CpuKernels::sgd(Stream, const SgdArgs& args) {
  const SgdFactors factors{args.learning_rate, args.momentum, args.weight_decay, args.nesterov};
  sgd_elements(factors, data_of<float>(args.parameters_in), data_of<float>(args.gradient), data_of<float>(args.momentum_in),
               data_of<float>(args.parameters_out), data_of<float>(args.momentum_out));
}

void CpuKernels::encode(Stream, const EncodeArgs& args) {
  const std::span<const float> x = data_of<float>(args.x);
  const auto n = static_cast<int64_t>(x.size());
  const Feedback feedback{data_of<float>(args.residual_in), data_of<float>(args.residual_out)};
  XDC_CHECK(feedback.before.size() == feedback.after.size());
  XDC_CHECK(feedback.before.empty() ? !args.codec.error_feedback || n == 0
                                    : args.codec.error_feedback && feedback.before.size() == x.size());
  switch (args.codec.kind) {
    case CodecKind::none:
      copy_bytes(wire_of(args.wire, 4 * n, 1), x.data(), x.size_bytes());
      return;
    case CodecKind::fp16:
      encode_fp16(x, feedback, wire_of(args.wire, 2 * n, alignof(uint16_t)));
      return;
    case CodecKind::bf16:
      encode_bf16(x, feedback, wire_of(args.wire, 2 * n, alignof(uint16_t)));
      return;
    case CodecKind::int8:
      XDC_CHECK(args.first_element % kCodecBlock == 0 && args.first_element + n <= int64_t{1} << 34);
      encode_int8(x, feedback, args.codec.rounding, args.rounding, args.first_element,
                  wire_of(args.wire, int8_wire_bytes(n), alignof(float)));
      return;
    case CodecKind::top_k: {
      XDC_CHECK(n < int64_t{1} << 32);
      const int64_t k = top_k_count(args.codec.density, n);
      encode_top_k(x, feedback, k, wire_of(args.wire, 8 * k, alignof(float)));
      return;
    }
  }
}

Status CpuKernels::decode(Stream, const CodecSpec& codec, Bytes wire, Tensor tensor) {
  const std::span<float> x = data_of<float>(tensor);
  const auto n = static_cast<int64_t>(x.size());
  switch (codec.kind) {
    case CodecKind::none:
      copy_bytes(x.data(), wire_of(wire, 4 * n, 1), x.size_bytes());
      break;
    case CodecKind::fp16:
      decode_fp16(wire_of(wire, 2 * n, alignof(uint16_t)), x);
      break;
    case CodecKind::bf16:
      decode_bf16(wire_of(wire, 2 * n, alignof(uint16_t)), x);
      break;
    case CodecKind::int8:
      decode_int8(wire_of(wire, int8_wire_bytes(n), alignof(float)), x);
      break;
    case CodecKind::top_k: {
      const int64_t k = top_k_count(codec.density, n);
      return decode_top_k(wire_of(wire, 8 * k, alignof(float)), k, x);
    }
  }
  return ok_status();
}

}  // namespace xdc
