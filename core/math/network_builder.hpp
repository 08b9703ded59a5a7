// Which oneDNN primitives make up a network, over which memory? Built once; a step only runs them.
//
// Layouts are oneDNN's choice: every tensor is asked for as `any` and reordered where two neighbours disagree. Fixing one
// tensor's layout to its neighbour's makes oneDNN fall back to reference code, a hundred times slower.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "core/base/result.hpp"
#include "core/math/few_channels.hpp"
#include "core/math/onednn.hpp"
#include "core/seam/kernels.hpp"

namespace xdc {

struct BuiltLayer {
  LayerSpec spec;
  // A relu is in place, by our own code: forward on `output`, backward on `gradient` where `output` > 0. A relu behind a
  // convolution or dense layer is done by that layer's primitive, forward.
  bool relu_forward = false, relu_backward = false;
  dnnl::memory output;    // activations, oneDNN's layout
  dnnl::memory gradient;  // relu: by its output, same layout; few_channels: by its output
  std::vector<OneDnnCall> forward, backward;
  // Where oneDNN would waste most of its work on the gradient by the weights: from `source` (plain) and `gradient` (nChw8c).
  std::optional<FewChannelsGradient> few_channels;
  dnnl::memory source;
  // conv2d and dense: plain layout, bound to the caller's buffers for each call.
  std::optional<dnnl::memory> weights, bias, weights_gradient, bias_gradient;
};

struct BuiltNetwork {
  dnnl::memory input;                     // plain, bound to the caller's images or to own memory
  dnnl::memory logits;                    // plain [batch, classes]
  dnnl::memory logits_gradient;           // plain [batch, classes]
  std::vector<OneDnnCall> after_forward;  // brings the last layer's output into `logits` where its layout differs
  std::vector<BuiltLayer> layers;
  int first_with_parameters = 0;          // no layer in front of it has a backward pass
  std::vector<dnnl::memory> scratchpads;  // every primitive's, all over one piece of memory
  std::vector<std::byte> scratchpad;
};

// Errors: invalid, where oneDNN has no optimised code for a layer on this processor.
Result<BuiltNetwork> build_network(const dnnl::engine& engine, const NetworkSpec& spec, int batch);

}  // namespace xdc
