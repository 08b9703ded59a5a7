// How is a network built? The class behind build_network(), in three files: what all layers need (network_builder.cpp), the
// forward chain (network_forward.cpp), the backward chain (network_backward.cpp).
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/math/network_builder.hpp"

namespace xdc {

class NetworkBuilder {
 public:
  NetworkBuilder(const dnnl::engine& engine, const NetworkSpec& spec, int batch) : engine_(engine), spec_(spec), batch_(batch) {}

  Result<BuiltNetwork> build();

 private:
  using Memory = dnnl::memory;
  using Dims = Memory::dims;
  using Tag = Memory::format_tag;
  using Kind = dnnl::prop_kind;
  using Calls = std::vector<OneDnnCall>;
  static constexpr auto kFloat = Memory::data_type::f32;

  struct ForwardHints {
    dnnl::convolution_forward::primitive_desc conv;
    dnnl::inner_product_forward::primitive_desc dense;
    dnnl::pooling_forward::primitive_desc pool;
    Memory workspace;  // pool
    Memory weights;    // conv and dense: in the layout that forward likes
  };

  static Memory::desc any_layout(const Dims& dims) { return {dims, kFloat, Tag::any}; }
  static Memory::desc plain_layout(const Dims& dims) {
    return {dims, kFloat, dims.size() == 4 ? Tag::nchw : (dims.size() == 2 ? Tag::nc : Tag::x)};
  }
  static dnnl::primitive_attr attributes(bool relu = false);

  // Zero-filled: the padding of a blocked layout must be, and nobody reads what was never written.
  Memory allocate(const Memory::desc& desc);
  Memory unbound(const Dims& dims) { return {plain_layout(dims), engine_, DNNL_MEMORY_NONE}; }
  // `memory` itself where its layout is right, else a copy that `calls` brings up to date.
  Memory in_layout(const Memory& memory, const Memory::desc& desc, Calls& calls);
  void add_reorder(const Memory& from, const Memory& to, Calls& calls);
  void add_call(dnnl::primitive primitive, const Memory::desc& scratchpad, std::vector<std::pair<int, Memory>> arguments, Calls& calls);
  void share_scratchpad();

  // oneDNN's reference code is right but a hundred times too slow: whoever gets it has asked for the wrong thing.
  template <class Desc>
  void refuse_reference_code(const Desc& desc, size_t layer) {
    if (refused_.empty() && std::string_view(desc.impl_info_str()).starts_with("ref")) {
      refused_ = fmt::format("layer {}: oneDNN has only reference code for it on this processor ({})", layer, desc.impl_info_str());
    }
  }

  // network_forward.cpp: each returns its output.
  void build_forward();
  Memory conv_forward(size_t i, const Memory& x);
  Memory dense_forward(size_t i, const Memory& x);
  Memory pool_forward(size_t i, const Memory& x);
  Memory as_input_of(const LayerSpec& layer, const Memory& x);
  bool fused_relu_follows(size_t i) const;

  // network_backward.cpp: each takes the gradient by its output and returns that by its input, if it is needed.
  void build_backward();
  Memory conv_backward(size_t i, const Memory& g, bool needs_source_gradient);
  Memory dense_backward(size_t i, const Memory& g, bool needs_source_gradient);
  Memory pool_backward(size_t i, const Memory& g);
  Memory as_gradient_of(BuiltLayer& layer, const Memory& g);
  bool suits_few_channels(size_t i) const;
  template <class Desc>
  void add_weights_gradient(const Desc& desc, dnnl::primitive primitive, size_t i, const Memory& g);
  template <class Desc>
  Memory add_source_gradient(const Desc& desc, dnnl::primitive primitive, size_t i, const Memory& g);

  const dnnl::engine& engine_;
  const NetworkSpec& spec_;
  int batch_;
  BuiltNetwork net_;
  std::vector<Memory> sources_;  // each layer's input, in the layout its forward primitive took
  std::vector<ForwardHints> forward_;
  std::string refused_;  // why, if a layer has no fast code
};

}  // namespace xdc
