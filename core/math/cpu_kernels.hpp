// What arithmetic does a CPU offer? oneDNN for networks, own loops for the rest: one thread, fixed order, done at return, so
// streams mean nothing. This is the oracle every other device is held to.
#pragma once

#include <memory>

#include "core/seam/kernels.hpp"

namespace xdc {

// Any lane may call; networks it compiled may outlive it. Takes host, pinned and device memory alike: the CPU is the device.
class CpuKernels final : public Kernels {
 public:
  // Pins the process to CpuNumerics::portable if nothing has been pinned yet (core/math/numerics.hpp).
  CpuKernels();
  ~CpuKernels() override;
  CpuKernels(const CpuKernels&) = delete;
  CpuKernels& operator=(const CpuKernels&) = delete;

  Result<std::unique_ptr<Network>> compile(const NetworkSpec& spec, int batch) override;
  void add(Stream stream, Tensor y, Tensor x) override;
  void scale(Stream stream, Tensor y, float a) override;
  void adam(Stream stream, const AdamArgs& args) override;
  void sgd(Stream stream, const SgdArgs& args) override;
  void encode(Stream stream, const EncodeArgs& args) override;
  Status decode(Stream stream, const CodecSpec& codec, Bytes wire, Tensor x) override;

 private:
  struct Engine;  // keeps oneDNN's headers out of this one
  std::unique_ptr<Engine> engine_;
};

}  // namespace xdc
