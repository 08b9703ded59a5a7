// Which memory does an operation read and write? Every call goes to the arithmetic as it is; its operands go to the device.
#include "sim/device.hpp"

namespace xdc {
namespace {

class WatchedNetwork final : public Network {
 public:
  WatchedNetwork(SimDevice& device, std::unique_ptr<Network> network, NetworkSpec spec)
      : device_(device), network_(std::move(network)), spec_(std::move(spec)) {}

  void forward(Stream stream, Tensor parameters, Tensor images, Tensor labels, int count, float loss_scale, Tensor loss) override {
    for (const auto& read : {parameters, images, labels}) device_.check_readable(stream, read.bytes);
    network_->forward(stream, parameters, images, labels, count, loss_scale, loss);
    device_.written(stream, loss.bytes);
  }

  void backward_layer(Stream stream, int layer, Tensor parameters, Tensor gradients, bool accumulate) override {
    device_.check_readable(stream, parameters.bytes);
    network_->backward_layer(stream, layer, parameters, gradients, accumulate);
    const auto& spec = spec_.layers[static_cast<size_t>(layer)];
    if (spec.parameters > 0) {
      device_.written(stream, gradients.range(spec.first_parameter, spec.parameters).bytes);
    }
  }

  // No check of streams and no waiting: evaluation takes no virtual time, and a phantom run does without it.
  EvaluationSums evaluate(Stream stream, Tensor parameters, Tensor images, Tensor labels, int count) override {
    return network_->evaluate(stream, parameters, images, labels, count);
  }

 private:
  SimDevice& device_;
  std::unique_ptr<Network> network_;
  NetworkSpec spec_;
};

class WatchedKernels final : public Kernels {
 public:
  WatchedKernels(SimDevice& device, Kernels& kernels) : device_(device), kernels_(kernels) {}

  Result<std::unique_ptr<Network>> compile(const NetworkSpec& spec, int batch) override {
    XDC_TRY_ASSIGN(auto network, kernels_.compile(spec, batch));
    return std::unique_ptr<Network>(std::make_unique<WatchedNetwork>(device_, std::move(network), spec));
  }
  void add(Stream stream, Tensor y, Tensor x) override {
    reads(stream, {y.bytes, x.bytes});
    kernels_.add(stream, y, x);
    device_.written(stream, y.bytes);
  }
  void scale(Stream stream, Tensor y, float a) override {
    reads(stream, {y.bytes});
    kernels_.scale(stream, y, a);
    device_.written(stream, y.bytes);
  }
  void adam(Stream stream, const AdamArgs& args) override {
    reads(stream, {args.parameters_in.bytes, args.gradient.bytes, args.m_in.bytes, args.v_in.bytes});
    kernels_.adam(stream, args);
    for (const auto& out : {args.parameters_out, args.m_out, args.v_out}) device_.written(stream, out.bytes);
  }
  void sgd(Stream stream, const SgdArgs& args) override {
    reads(stream, {args.parameters_in.bytes, args.gradient.bytes, args.momentum_in.bytes});
    kernels_.sgd(stream, args);
    for (const auto& out : {args.parameters_out, args.momentum_out}) device_.written(stream, out.bytes);
  }
  void encode(Stream stream, const EncodeArgs& args) override {
    reads(stream, {args.x.bytes, args.residual_in.bytes});
    kernels_.encode(stream, args);
    device_.written(stream, args.wire);
    device_.written(stream, args.residual_out.bytes);
  }
  Status decode(Stream stream, const CodecSpec& codec, Bytes wire, Tensor x) override {
    reads(stream, {wire});
    XDC_TRY(kernels_.decode(stream, codec, wire, x));
    device_.written(stream, x.bytes);
    return ok_status();
  }

 private:
  void reads(Stream stream, std::initializer_list<Bytes> operands) {
    for (const auto& operand : operands) device_.check_readable(stream, operand);
  }

  SimDevice& device_;
  Kernels& kernels_;
};

}  // namespace

std::unique_ptr<Kernels> watched_kernels(SimDevice& device, Kernels& arithmetic) {
  return std::make_unique<WatchedKernels>(device, arithmetic);
}

}  // namespace xdc
