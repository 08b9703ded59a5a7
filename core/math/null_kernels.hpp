// What arithmetic is done where the payload is phantom? None. The same calls, nothing read, nothing written.
#pragma once

#include "core/seam/kernels.hpp"

namespace xdc {

class NullKernels final : public Kernels {
 public:
  // The network's shapes are checked as on a real device; its evaluate() is a bug of the caller: there is nothing to evaluate.
  Result<std::unique_ptr<Network>> compile(const NetworkSpec& spec, int batch) override;
  void add(Stream, Tensor, Tensor) override {}
  void scale(Stream, Tensor, float) override {}
  void adam(Stream, const AdamArgs&) override {}
  void sgd(Stream, const SgdArgs&) override {}
  void encode(Stream, const EncodeArgs&) override {}
  Status decode(Stream, const CodecSpec&, Bytes, Tensor) override { return ok_status(); }
};

}  // namespace xdc
