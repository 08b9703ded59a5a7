// How does a CPU run a network? Prepared oneDNN primitives in order, on the calling thread, done at return.
#pragma once

#include <memory>
#include <vector>

#include "core/math/network_builder.hpp"
#include "core/seam/kernels.hpp"

namespace xdc {

class CpuNetwork final : public Network {
 public:
  // Errors: invalid, for a network whose layers do not fit each other.
  static Result<std::unique_ptr<Network>> make(const dnnl::engine& engine, const NetworkSpec& spec, int batch);

  CpuNetwork(dnnl::stream stream, NetworkSpec spec, int batch, BuiltNetwork net);

  void forward(Stream stream, Tensor parameters, Tensor images, Tensor labels, int count, float loss_scale, Tensor loss) override;
  void backward_layer(Stream stream, int layer, Tensor parameters, Tensor gradients, bool accumulate) override;
  EvaluationSums evaluate(Stream stream, Tensor parameters, Tensor images, Tensor labels, int count) override;

 private:
  // All layers, up to the logits.
  void run_layers(Tensor parameters, Tensor images, int count);
  void bind_images(Tensor images, int count);
  void bind_parameters(const float* parameters);

  dnnl::stream stream_;
  NetworkSpec spec_;
  int batch_;
  BuiltNetwork net_;
  std::vector<float> images_;       // padded images of a partial batch; where the first layer writes on its input, of any
  std::vector<float> accumulated_;  // one layer's gradient on its way to being added
  std::vector<double> scratch_;
  int next_backward_ = -1;  // the layer whose turn it is; -1: none, forward comes first
};

}  // namespace xdc
