// Builds the forward chain from the first layer to the last, then the backward chain from the last to the first, each
// primitive taking the layouts it likes best.
#include "core/math/network_builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace xdc {
namespace {

using Memory = dnnl::memory;
using Dims = Memory::dims;
using Tag = Memory::format_tag;
using Kind = dnnl::prop_kind;

constexpr auto kFloat = Memory::data_type::f32;

Memory::desc any_layout(const Dims& dims) { return {dims, kFloat, Tag::any}; }
Memory::desc plain_layout(const Dims& dims) { return {dims, kFloat, dims.size() == 4 ? Tag::nchw : (dims.size() == 2 ? Tag::nc : Tag::x)}; }

bool fused_relu_follows(const NetworkSpec& spec, size_t i) {
  const LayerKind kind = spec.layers[i].kind;
  return (kind == LayerKind::conv2d || kind == LayerKind::dense) && i + 1 < spec.layers.size() &&
         spec.layers[i + 1].kind == LayerKind::relu;
}

class NetworkBuilder {
 public:
  NetworkBuilder(const dnnl::engine& engine, const NetworkSpec& spec, int batch) : engine_(engine), spec_(spec), batch_(batch) {}

  Result<BuiltNetwork> build() {
    net_.layers.resize(spec_.layers.size());
    sources_.resize(spec_.layers.size());
    forward_.resize(spec_.layers.size());
    build_forward();
    build_backward();
    share_scratchpad();
    if (!refused_.empty()) {
      return Error{ErrorCode::invalid, refused_};
    }
    return std::move(net_);
  }

 private:
  struct ForwardHints {
    dnnl::convolution_forward::primitive_desc conv;
    dnnl::inner_product_forward::primitive_desc dense;
    dnnl::pooling_forward::primitive_desc pool;
    Memory workspace;  // pool
    Memory weights;    // conv and dense: in the layout that forward likes
  };

  // Zero-filled: the padding of a blocked layout must be, and nobody reads what was never written.
  Memory allocate(const Memory::desc& desc) {
    Memory memory(desc, engine_);
    std::memset(memory.get_data_handle(), 0, desc.get_size());
    return memory;
  }
  Memory unbound(const Dims& dims) { return {plain_layout(dims), engine_, DNNL_MEMORY_NONE}; }

  // `memory` itself where its layout is right, else a copy that `calls` brings up to date.
  Memory in_layout(const Memory& memory, const Memory::desc& desc, std::vector<OneDnnCall>& calls) {
    if (memory.get_desc() == desc) {
      return memory;
    }
    Memory copy = allocate(desc);
    add_reorder(memory, copy, calls);
    return copy;
  }

  void add_reorder(const Memory& from, const Memory& to, std::vector<OneDnnCall>& calls) {
    const dnnl::reorder::primitive_desc desc(engine_, from.get_desc(), engine_, to.get_desc(), attributes());
    add_call(dnnl::reorder(desc), desc.scratchpad_desc(), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}}, calls);
  }

  void add_call(dnnl::primitive primitive, const Memory::desc& scratchpad, std::vector<std::pair<int, Memory>> arguments,
                std::vector<OneDnnCall>& calls) {
    if (scratchpad.get_size() > 0) {
      net_.scratchpads.push_back(Memory(scratchpad, engine_, DNNL_MEMORY_NONE));
      arguments.emplace_back(DNNL_ARG_SCRATCHPAD, net_.scratchpads.back());
    }
    calls.emplace_back(std::move(primitive), arguments);
  }

  static dnnl::primitive_attr attributes(bool relu = false) {
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    if (relu) {
      dnnl::post_ops after;
      after.append_eltwise(1.0F, dnnl::algorithm::eltwise_relu, 0.0F, 0.0F);
      attributes.set_post_ops(after);
    }
    return attributes;
  }

  // The same values seen as [batch, channels, height, width], or flattened to what the layer takes.
  Memory as_input_of(const LayerSpec& layer, const Memory& x) {
    const bool flat = layer.kind == LayerKind::dense;
    const size_t rank = x.get_desc().dims().size();
    if (flat || rank == 4 || layer.kind == LayerKind::relu) {
      return x;
    }
    return {plain_layout({batch_, layer.in_channels, layer.in_height, layer.in_width}), engine_, x.get_data_handle()};
  }

  void build_forward() {
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
          layer.relu_forward = i == 0 || !fused_relu_follows(spec_, i - 1);
          break;
      }
      layer.output = x;
    }
    const Dims dims = x.get_desc().dims();
    net_.logits = in_layout(x, plain_layout(dims), net_.after_forward);
    net_.logits_gradient = allocate(plain_layout(dims));
  }

  Memory conv_forward(size_t i, const Memory& x) {
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
    hints.conv = {desc, attributes(fused_relu_follows(spec_, i)), engine_};
    refuse_reference_code(hints.conv, i);
    sources_[i] = in_layout(x, hints.conv.src_desc(), layer.forward);
    hints.weights = in_layout(*layer.weights, hints.conv.weights_desc(), layer.forward);
    Memory y = allocate(hints.conv.dst_desc());
    add_call(dnnl::convolution_forward(hints.conv), hints.conv.scratchpad_desc(),
             {{DNNL_ARG_SRC, sources_[i]}, {DNNL_ARG_WEIGHTS, hints.weights}, {DNNL_ARG_BIAS, *layer.bias}, {DNNL_ARG_DST, y}},
             layer.forward);
    return y;
  }

  Memory dense_forward(size_t i, const Memory& x) {
    BuiltLayer& layer = net_.layers[i];
    const LayerSpec& spec = layer.spec;
    Dims weights = x.get_desc().dims();
    weights[0] = spec.out_channels;
    layer.weights = unbound(weights);
    layer.bias = unbound({spec.out_channels});
    const dnnl::inner_product_forward::desc desc(Kind::forward_training, any_layout(x.get_desc().dims()), any_layout(weights),
                                                 layer.bias->get_desc(), plain_layout({batch_, spec.out_channels}));
    ForwardHints& hints = forward_[i];
    hints.dense = {desc, attributes(fused_relu_follows(spec_, i)), engine_};
    refuse_reference_code(hints.dense, i);
    sources_[i] = in_layout(x, hints.dense.src_desc(), layer.forward);
    hints.weights = in_layout(*layer.weights, hints.dense.weights_desc(), layer.forward);
    Memory y = allocate(hints.dense.dst_desc());
    add_call(dnnl::inner_product_forward(hints.dense), hints.dense.scratchpad_desc(),
             {{DNNL_ARG_SRC, sources_[i]}, {DNNL_ARG_WEIGHTS, hints.weights}, {DNNL_ARG_BIAS, *layer.bias}, {DNNL_ARG_DST, y}},
             layer.forward);
    return y;
  }

  Memory pool_forward(size_t i, const Memory& x) {
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

  void build_backward() {
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
  Memory as_gradient_of(const BuiltLayer& layer, const Memory& g) {
    const Dims dims = layer.output.get_desc().dims();
    if (g.get_desc().dims().size() == dims.size()) {
      return g;
    }
    return {plain_layout(dims), engine_, g.get_data_handle()};
  }

  Memory conv_backward(size_t i, const Memory& g, bool needs_source_gradient) {
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
          {dnnl::algorithm::convolution_direct, x, w, layer.bias->get_desc(), y, {1, 1}, border, border}, attributes(), engine_,
          hints.conv);
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

  bool suits_few_channels(size_t i) const {
    const Memory::desc x = sources_[i].get_desc();
    const Memory::desc y = net_.layers[i].output.get_desc();
    return FewChannelsGradient::suits(spec_.layers[i]) && x == plain_layout(x.dims()) && y == Memory::desc(y.dims(), kFloat, Tag::nChw8c);
  }

  Memory dense_backward(size_t i, const Memory& g, bool needs_source_gradient) {
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

  template <class Desc>
  void add_weights_gradient(const Desc& desc, dnnl::primitive primitive, size_t i, const Memory& g) {
    BuiltLayer& layer = net_.layers[i];
    layer.weights_gradient = unbound(layer.weights->get_desc().dims());
    layer.bias_gradient = unbound(layer.bias->get_desc().dims());
    const Memory source = in_layout(sources_[i], desc.src_desc(), layer.backward);
    const Memory gradient = in_layout(g, desc.diff_dst_desc(), layer.backward);
    const bool plain = desc.diff_weights_desc() == layer.weights_gradient->get_desc();
    const Memory weights = plain ? *layer.weights_gradient : allocate(desc.diff_weights_desc());
    add_call(std::move(primitive), desc.scratchpad_desc(),
             {{DNNL_ARG_SRC, source},
              {DNNL_ARG_DIFF_DST, gradient},
              {DNNL_ARG_DIFF_WEIGHTS, weights},
              {DNNL_ARG_DIFF_BIAS, *layer.bias_gradient}},
             layer.backward);
    if (!plain) {
      add_reorder(weights, *layer.weights_gradient, layer.backward);
    }
  }

  template <class Desc>
  Memory add_source_gradient(const Desc& desc, dnnl::primitive primitive, size_t i, const Memory& g) {
    BuiltLayer& layer = net_.layers[i];
    const Memory gradient = in_layout(g, desc.diff_dst_desc(), layer.backward);
    const bool as_forward = forward_[i].weights.get_desc() == desc.weights_desc();
    const Memory weights = as_forward ? forward_[i].weights : in_layout(*layer.weights, desc.weights_desc(), layer.backward);
    Memory source = allocate(desc.diff_src_desc());
    add_call(std::move(primitive), desc.scratchpad_desc(),
             {{DNNL_ARG_DIFF_DST, gradient}, {DNNL_ARG_WEIGHTS, weights}, {DNNL_ARG_DIFF_SRC, source}}, layer.backward);
    return source;
  }

  Memory pool_backward(size_t i, const Memory& g) {
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

  template <class Desc>
  void refuse_reference_code(const Desc& desc, size_t layer) {
    if (refused_.empty() && std::string_view(desc.impl_info_str()).starts_with("ref")) {
      refused_ = fmt::format("layer {}: oneDNN has only reference code for it on this processor ({})", layer, desc.impl_info_str());
    }
  }

  void share_scratchpad() {
    constexpr size_t kAlignment = 64;
    size_t most = 0;
    for (const Memory& one : net_.scratchpads) {
      most = std::max(most, one.get_desc().get_size());
    }
    net_.scratchpad.resize(most + kAlignment);
    void* start = net_.scratchpad.data();
    size_t space = net_.scratchpad.size();
    XDC_CHECK(std::align(kAlignment, most, start, space) != nullptr);
    for (const Memory& one : net_.scratchpads) {
      bind(one, start);
    }
  }

  const dnnl::engine& engine_;
  const NetworkSpec& spec_;
  int batch_;
  BuiltNetwork net_;
  std::vector<Memory> sources_;  // each layer's input, in the layout its forward primitive took
  std::vector<ForwardHints> forward_;
  std::string refused_;  // why, if a layer has no fast code
};

}  // namespace

Result<BuiltNetwork> build_network(const dnnl::engine& engine, const NetworkSpec& spec, int batch) {
  try {
    return NetworkBuilder(engine, spec, batch).build();
  } catch (const dnnl::error& error) {
    return Error{ErrorCode::invalid, fmt::format("oneDNN cannot compile this network for a batch of {}: {}", batch, error.what())};
  }
}

}  // namespace xdc
