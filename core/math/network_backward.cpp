// Builds the backward chain from the last layer to the first one with parameters.
#include <algorithm>

#include "core/math/network_building.hpp"

namespace xdc {

template <class Desc>
void NetworkBuilder::add_weights_gradient(const Desc& desc, dnnl::primitive primitive, size_t i, const Memory& g) {
  BuiltLayer& layer = net_.layers[i];
  layer.weights_gradient = unbound(layer.weights->get_desc().dims());
  layer.bias_gradient = unbound(layer.bias->get_desc().dims());
  const Memory source = in_layout(sources_[i], desc.src_desc(), layer.backward);
  const Memory gradient = in_layout(g, desc.diff_dst_desc(), layer.backward);
  const bool plain = desc.diff_weights_desc() == layer.weights_gradient->get_desc();
  const Memory weights = plain ? *layer.weights_gradient : allocate(desc.diff_weights_desc());
  add_call(
      std::move(primitive), desc.scratchpad_desc(),
      {{DNNL_ARG_SRC, source}, {DNNL_ARG_DIFF_DST, gradient}, {DNNL_ARG_DIFF_WEIGHTS, weights}, {DNNL_ARG_DIFF_BIAS, *layer.bias_gradient}},
      layer.backward);
  if (!plain) {
    add_reorder(weights, *layer.weights_gradient, layer.backward);
  }
}

template <class Desc>
NetworkBuilder::Memory NetworkBuilder::add_source_gradient(const Desc& desc, dnnl::primitive primitive, size_t i, const Memory& g) {
  BuiltLayer& layer = net_.layers[i];
  const Memory gradient = in_layout(g, desc.diff_dst_desc(), layer.backward);
  const bool as_forward = forward_[i].weights.get_desc() == desc.weights_desc();
  const Memory weights = as_forward ? forward_[i].weights : in_layout(*layer.weights, desc.weights_desc(), layer.backward);
  Memory source = allocate(desc.diff_src_desc());
  add_call(std::move(primitive), desc.scratchpad_desc(),
           {{DNNL_ARG_DIFF_DST, gradient}, {DNNL_ARG_WEIGHTS, weights}, {DNNL_ARG_DIFF_SRC, source}}, layer.backward);
  return source;
}

void NetworkBuilder::build_backward() {
  const auto first = std::ranges::find_if(spec_.layers, [](const LayerSpec& layer) { return layer.parameters > 0; });
  net_.first_with_parameters = static_cast<int>(first - spec_.layers.begin());
  Memory g = net_.logits_gradient;
  for (int i = static_cast<int>(spec_.layers.size()) - 1; i >= net_.first_with_parameters; --i) {
    const bool needs_source_gradient = i > net_.first_with_parameters;
    const auto at = static_cast<size_t>(i);
    g = as_gradient_of(net_.layers[at], g);
    switch (spec_.layers[at].kind) {
      case LayerKind::conv2d:
        g = conv_backward(at, g, needs_source_gradient);
        break;
      case LayerKind::dense:
        g = dense_backward(at, g, needs_source_gradient);
        break;
      case LayerKind::max_pool:
        g = pool_backward(at, g);
        break;
      case LayerKind::relu:
        g = in_layout(g, net_.layers[at].output.get_desc(), net_.layers[at].backward);
        net_.layers[at].gradient = g;
        net_.layers[at].relu_backward = true;
        break;
    }
  }
}

// The next layer may see this one's output in another rank ([batch, channels, 1, 1] for [batch, channels]).
NetworkBuilder::Memory NetworkBuilder::as_gradient_of(BuiltLayer& layer, const Memory& g) {
  const Dims dims = layer.output.get_desc().dims();
  if (g.get_desc().dims().size() == dims.size()) {
    return g;
  }
  const Memory plain = in_layout(g, plain_layout(g.get_desc().dims()), layer.backward);
  return {plain_layout(dims), engine_, plain.get_data_handle()};
}

NetworkBuilder::Memory NetworkBuilder::conv_backward(size_t i, const Memory& g, bool needs_source_gradient) {
  BuiltLayer& layer = net_.layers[i];
  const ForwardHints& hints = forward_[i];
  const Dims border{layer.spec.padding, layer.spec.padding};
  const Memory::desc x = any_layout(sources_[i].get_desc().dims());
  const Memory::desc w = any_layout(layer.weights->get_desc().dims());
  const Memory::desc y = any_layout(g.get_desc().dims());
  if (suits_few_channels(i)) {
    layer.few_channels.emplace(layer.spec, batch_);
    layer.source = sources_[i];
    layer.gradient = in_layout(g, layer.output.get_desc(), layer.backward);
  } else {
    const dnnl::convolution_backward_weights::primitive_desc by_weights(
        {dnnl::algorithm::convolution_direct, x, w, layer.bias->get_desc(), y, {1, 1}, border, border}, attributes(), engine_, hints.conv);
    refuse_reference_code(by_weights, i);
    add_weights_gradient(by_weights, dnnl::convolution_backward_weights(by_weights), i, g);
  }
  if (!needs_source_gradient) {
    return {};
  }
  const dnnl::convolution_backward_data::primitive_desc by_source({dnnl::algorithm::convolution_direct, x, w, y, {1, 1}, border, border},
                                                                  attributes(), engine_, hints.conv);
  refuse_reference_code(by_source, i);
  return add_source_gradient(by_source, dnnl::convolution_backward_data(by_source), i, g);
}

bool NetworkBuilder::suits_few_channels(size_t i) const {
  const Memory::desc x = sources_[i].get_desc();
  const Memory::desc y = net_.layers[i].output.get_desc();
  return FewChannelsGradient::suits(spec_.layers[i]) && x == plain_layout(x.dims()) && y == Memory::desc(y.dims(), kFloat, Tag::nChw8c);
}

NetworkBuilder::Memory NetworkBuilder::dense_backward(size_t i, const Memory& g, bool needs_source_gradient) {
  BuiltLayer& layer = net_.layers[i];
  const ForwardHints& hints = forward_[i];
  const Memory::desc x = any_layout(sources_[i].get_desc().dims());
  const Memory::desc w = any_layout(layer.weights->get_desc().dims());
  const Memory::desc y = any_layout(g.get_desc().dims());
  const dnnl::inner_product_backward_weights::primitive_desc by_weights({x, w, layer.bias->get_desc(), y}, attributes(), engine_,
                                                                        hints.dense);
  refuse_reference_code(by_weights, i);
  add_weights_gradient(by_weights, dnnl::inner_product_backward_weights(by_weights), i, g);
  if (!needs_source_gradient) {
    return {};
  }
  const dnnl::inner_product_backward_data::primitive_desc by_source({x, w, y}, attributes(), engine_, hints.dense);
  refuse_reference_code(by_source, i);
  return add_source_gradient(by_source, dnnl::inner_product_backward_data(by_source), i, g);
}

NetworkBuilder::Memory NetworkBuilder::pool_backward(size_t i, const Memory& g) {
  BuiltLayer& layer = net_.layers[i];
  const Dims window{layer.spec.kernel, layer.spec.kernel};
  const dnnl::pooling_backward::primitive_desc desc(
      {dnnl::algorithm::pooling_max, sources_[i].get_desc(), layer.output.get_desc(), window, window, {0, 0}, {0, 0}}, attributes(),
      engine_, forward_[i].pool);
  const Memory gradient = in_layout(g, desc.diff_dst_desc(), layer.backward);
  Memory source = allocate(desc.diff_src_desc());
  add_call(dnnl::pooling_backward(desc), desc.scratchpad_desc(),
           {{DNNL_ARG_DIFF_DST, gradient}, {DNNL_ARG_WORKSPACE, forward_[i].workspace}, {DNNL_ARG_DIFF_SRC, source}}, layer.backward);
  return source;
}

}  // namespace xdc
