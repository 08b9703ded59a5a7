// Unpacks tensors and calls the loops.
#include "core/math/cpu_kernels.hpp"

#include <cstring>
#include <oneapi/dnnl/dnnl.hpp>

#include "core/math/cpu_network.hpp"
#include "core/math/elementwise.hpp"
#include "core/math/fp16.hpp"
#include "core/math/numerics.hpp"
#include "core/math/tensor_data.hpp"

namespace xdc {
namespace {

std::span<uint16_t> halves_of(Bytes wire, size_t n) {
  XDC_CHECK_MSG(!wire.phantom() || n == 0, "arithmetic on a phantom");
  XDC_CHECK(wire.size == n * sizeof(uint16_t));
  XDC_CHECK(reinterpret_cast<uintptr_t>(wire.data) % alignof(uint16_t) == 0);
  return {reinterpret_cast<uint16_t*>(wire.data), n};
}

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

void CpuKernels::encode(Stream, const CodecSpec& codec, Tensor x, Bytes wire) {
  const std::span<const float> values = data_of<float>(x);
  switch (codec.kind) {
    case CodecKind::none:
      XDC_CHECK(wire.size == values.size_bytes() && (!wire.phantom() || values.empty()));
      copy_bytes(wire.data, values.data(), values.size_bytes());
      return;
    case CodecKind::fp16:
      halves_from_floats(values, halves_of(wire, values.size()));
      return;
  }
}

void CpuKernels::decode(Stream, const CodecSpec& codec, Bytes wire, Tensor x) {
  const std::span<float> values = data_of<float>(x);
  switch (codec.kind) {
    case CodecKind::none:
      XDC_CHECK(wire.size == values.size_bytes() && (!wire.phantom() || values.empty()));
      copy_bytes(values.data(), wire.data, values.size_bytes());
      return;
    case CodecKind::fp16:
      floats_from_halves(halves_of(wire, values.size()), values);
      return;
  }
}

}  // namespace xdc
