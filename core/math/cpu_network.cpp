// Runs a built network forward and backward.
#include "core/math/cpu_network.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/math/elementwise.hpp"
#include "core/math/network_check.hpp"
#include "core/math/softmax_loss.hpp"
#include "core/math/tensor_data.hpp"

namespace xdc {
namespace {

// Every float of a memory, padding included.
std::span<float> floats_of(const dnnl::memory& memory) {
  return {static_cast<float*>(memory.get_data_handle()), memory.get_desc().get_size() / sizeof(float)};
}

}  // namespace

Result<std::unique_ptr<Network>> CpuNetwork::make(const dnnl::engine& engine, const NetworkSpec& spec, int batch) {
  XDC_TRY(check_network(spec, batch));
  use_one_thread();
  dnnl::stream stream(engine);
  XDC_TRY_ASSIGN(BuiltNetwork net, build_network(engine, spec, batch));
  return std::unique_ptr<Network>(std::make_unique<CpuNetwork>(std::move(stream), spec, batch, std::move(net)));
}

CpuNetwork::CpuNetwork(dnnl::stream stream, NetworkSpec spec, int batch, BuiltNetwork net)
    : stream_(std::move(stream)), spec_(std::move(spec)), batch_(batch), net_(std::move(net)) {
  images_.resize(static_cast<size_t>(batch_ * spec_.inputs()));
  int64_t most = 0;
  for (const LayerSpec& layer : spec_.layers) {
    most = std::max(most, layer.parameters);
  }
  accumulated_.resize(static_cast<size_t>(most));
  scratch_.resize(static_cast<size_t>(spec_.classes));
}

void CpuNetwork::forward(Stream, Tensor parameters, Tensor images, Tensor labels, int count, float loss_scale, Tensor loss) {
  run_layers(parameters, images, count);
  const auto values = static_cast<size_t>(count) * static_cast<size_t>(spec_.classes);
  const std::span<float> gradient = floats_of(net_.logits_gradient);
  // Rows that hold no sample give exact zeros to every sum over the batch.
  std::ranges::fill(gradient.subspan(values), 0.0F);
  const double sum = softmax_loss(floats_of(net_.logits).first(values), data_of<int32_t>(labels, batch_).first(static_cast<size_t>(count)),
                                  spec_.classes, loss_scale, gradient.first(values), scratch_);
  data_of<float>(loss, 1)[0] = static_cast<float>(sum * loss_scale);
  next_backward_ = static_cast<int>(spec_.layers.size()) - 1;
}

EvaluationSums CpuNetwork::evaluate(Stream, Tensor parameters, Tensor images, Tensor labels, int count) {
  run_layers(parameters, images, count);
  next_backward_ = -1;
  const auto values = static_cast<size_t>(count) * static_cast<size_t>(spec_.classes);
  return softmax_evaluate(floats_of(net_.logits).first(values), data_of<int32_t>(labels, batch_).first(static_cast<size_t>(count)),
                          spec_.classes, scratch_);
}

void CpuNetwork::run_layers(Tensor parameters, Tensor images, int count) {
  XDC_CHECK(0 < count && count <= batch_);
  use_one_thread();
  bind_images(images, count);
  bind_parameters(data_of<float>(parameters, spec_.parameters).data());
  for (const BuiltLayer& layer : net_.layers) {
    for (const OneDnnCall& call : layer.forward) {
      call.run(stream_);
    }
    if (layer.relu_forward) {
      relu_elements(floats_of(layer.output));
    }
  }
  for (const OneDnnCall& call : net_.after_forward) {
    call.run(stream_);
  }
}

void CpuNetwork::bind_images(Tensor images, int count) {
  const std::span<const float> given = data_of<float>(images, batch_ * spec_.inputs());
  if (count == batch_ && !net_.layers.front().relu_forward) {
    bind(net_.input, given.data());
    return;
  }
  const auto used = given.first(static_cast<size_t>(count * spec_.inputs()));
  std::ranges::copy(used, images_.begin());
  std::fill(images_.begin() + static_cast<std::ptrdiff_t>(used.size()), images_.end(), 0.0F);
  bind(net_.input, images_.data());
}

void CpuNetwork::bind_parameters(const float* parameters) {
  for (const BuiltLayer& layer : net_.layers) {
    if (layer.weights.has_value()) {
      const float* own = parameters + layer.spec.first_parameter;
      bind(*layer.weights, own);
      bind(*layer.bias, own + (layer.spec.parameters - layer.spec.out_channels));
    }
  }
}

void CpuNetwork::backward_layer(Stream, int layer, Tensor parameters, Tensor gradients, bool accumulate) {
  XDC_CHECK_MSG(layer >= 0 && layer == next_backward_, "backward goes from the last layer to the first, once after each forward");
  next_backward_ = layer - 1;
  BuiltLayer& built = net_.layers[static_cast<size_t>(layer)];
  const std::span<float> all = data_of<float>(gradients, spec_.parameters);
  (void)data_of<float>(parameters, spec_.parameters);
  use_one_thread();
  const auto count = static_cast<size_t>(built.spec.parameters);
  const auto own = all.subspan(static_cast<size_t>(built.spec.first_parameter), count);
  const auto target = accumulate ? std::span<float>(accumulated_).first(count) : own;
  const size_t weights = count - std::min(count, static_cast<size_t>(built.spec.out_channels));
  if (built.weights_gradient.has_value()) {
    bind(*built.weights_gradient, target.data());
    bind(*built.bias_gradient, target.data() + weights);
  }
  for (const OneDnnCall& call : built.backward) {
    call.run(stream_);
  }
  if (built.few_channels.has_value()) {
    built.few_channels->run(floats_of(built.source), floats_of(built.gradient), target.first(weights), target.subspan(weights));
  }
  if (built.relu_backward) {
    relu_gradient_elements(floats_of(built.gradient), floats_of(built.output));
  }
  if (accumulate && count > 0) {
    add_elements(own, target);
  }
}

}  // namespace xdc
