// Builds the forward chain from the first layer to the last, each primitive taking the layouts it likes best.
#include "core/math/network_building.hpp"

namespace xdc {

bool NetworkBuilder::fused_relu_follows(size_t i) const {
  const LayerKind kind = spec_.layers[i].kind;
  return (kind == LayerKind::conv2d || kind == LayerKind::dense) && i + 1 < spec_.layers.size() &&
         spec_.layers[i + 1].kind == LayerKind::relu;
}

// The same values seen as [batch, channels, height, width], or flattened to what the layer takes.
NetworkBuilder::Memory NetworkBuilder::as_input_of(const LayerSpec& layer, const Memory& x) {
  const bool flat = layer.kind == LayerKind::dense;
  const size_t rank = x.get_desc().dims().size();
  if (flat || rank == 4 || layer.kind == LayerKind::relu) {
    return x;
  }
  return {plain_layout({batch_, layer.in_channels, layer.in_height, layer.in_width}), engine_, x.get_data_handle()};
}

void NetworkBuilder::build_forward() {
  const LayerSpec& first = spec_.layers.front();
  const bool flat = first.kind == LayerKind::dense;
  net_.input = unbound(flat ? Dims{batch_, first.inputs()} : Dims{batch_, first.in_channels, first.in_height, first.in_width});
  Memory x = net_.input;
  for (size_t i = 0; i < spec_.layers.size(); ++i) {
    BuiltLayer& layer = net_.layers[i];
    layer.spec = spec_.layers[i];
    x = as_input_of(layer.spec, x);
    switch (layer.spec.kind) {
      case LayerKind::conv2d:
        x = conv_forward(i, x);
        break;
      case LayerKind::dense:
        x = dense_forward(i, x);
        break;
      case LayerKind::max_pool:
        x = pool_forward(i, x);
        break;
      case LayerKind::relu:
        layer.relu_forward = i == 0 || !fused_relu_follows(i - 1);
        break;
    }
    layer.output = x;
  }
  const Dims dims = x.get_desc().dims();
  net_.logits = in_layout(x, plain_layout(dims), net_.after_forward);
  net_.logits_gradient = allocate(plain_layout(dims));
}

NetworkBuilder::Memory NetworkBuilder::conv_forward(size_t i, const Memory& x) {
  BuiltLayer& layer = net_.layers[i];
  const LayerSpec& spec = layer.spec;
  layer.weights = unbound({spec.out_channels, spec.in_channels, spec.kernel, spec.kernel});
  layer.bias = unbound({spec.out_channels});
  const Dims border{spec.padding, spec.padding};
  const dnnl::convolution_forward::desc desc(Kind::forward_training, dnnl::algorithm::convolution_direct, any_layout(x.get_desc().dims()),
                                             any_layout(layer.weights->get_desc().dims()), layer.bias->get_desc(),
                                             any_layout({batch_, spec.out_channels, spec.out_height, spec.out_width}), {1, 1}, border,
                                             border);
  ForwardHints& hints = forward_[i];
  hints.conv = {desc, attributes(fused_relu_follows(i)), engine_};
  refuse_reference_code(hints.conv, i);
  sources_[i] = in_layout(x, hints.conv.src_desc(), layer.forward);
  hints.weights = in_layout(*layer.weights, hints.conv.weights_desc(), layer.forward);
  Memory y = allocate(hints.conv.dst_desc());
  add_call(dnnl::convolution_forward(hints.conv), hints.conv.scratchpad_desc(),
           {{DNNL_ARG_SRC, sources_[i]}, {DNNL_ARG_WEIGHTS, hints.weights}, {DNNL_ARG_BIAS, *layer.bias}, {DNNL_ARG_DST, y}},
           layer.forward);
  return y;
}

NetworkBuilder::Memory NetworkBuilder::dense_forward(size_t i, const Memory& x) {
  BuiltLayer& layer = net_.layers[i];
  const LayerSpec& spec = layer.spec;
  Dims weights = x.get_desc().dims();
  weights[0] = spec.out_channels;
  layer.weights = unbound(weights);
  layer.bias = unbound({spec.out_channels});
  const dnnl::inner_product_forward::desc desc(Kind::forward_training, any_layout(x.get_desc().dims()), any_layout(weights),
                                               layer.bias->get_desc(), plain_layout({batch_, spec.out_channels}));
  ForwardHints& hints = forward_[i];
  hints.dense = {desc, attributes(fused_relu_follows(i)), engine_};
  refuse_reference_code(hints.dense, i);
  sources_[i] = in_layout(x, hints.dense.src_desc(), layer.forward);
  hints.weights = in_layout(*layer.weights, hints.dense.weights_desc(), layer.forward);
  Memory y = allocate(hints.dense.dst_desc());
  add_call(dnnl::inner_product_forward(hints.dense), hints.dense.scratchpad_desc(),
           {{DNNL_ARG_SRC, sources_[i]}, {DNNL_ARG_WEIGHTS, hints.weights}, {DNNL_ARG_BIAS, *layer.bias}, {DNNL_ARG_DST, y}},
           layer.forward);
  return y;
}

NetworkBuilder::Memory NetworkBuilder::pool_forward(size_t i, const Memory& x) {
  BuiltLayer& layer = net_.layers[i];
  const LayerSpec& spec = layer.spec;
  const Dims window{spec.kernel, spec.kernel};
  const dnnl::pooling_forward::desc desc(Kind::forward_training, dnnl::algorithm::pooling_max, x.get_desc(),
                                         any_layout({batch_, spec.out_channels, spec.out_height, spec.out_width}), window, window, {0, 0},
                                         {0, 0});
  ForwardHints& hints = forward_[i];
  hints.pool = {desc, attributes(), engine_};
  hints.workspace = allocate(hints.pool.workspace_desc());
  Memory y = allocate(hints.pool.dst_desc());
  add_call(dnnl::pooling_forward(hints.pool), hints.pool.scratchpad_desc(),
           {{DNNL_ARG_SRC, x}, {DNNL_ARG_DST, y}, {DNNL_ARG_WORKSPACE, hints.workspace}}, layer.forward);
  sources_[i] = x;
  return y;
}

}  // namespace xdc
