// What does a layer cost on a device? Floating-point operations and bytes of memory, for Device::charge.
#pragma once

#include "core/seam/device.hpp"
#include "core/seam/kernels.hpp"

namespace xdc {

// A multiply and an add are two operations. conv2d: 2 * batch * outputs * in_channels * kernel^2; dense: 2 * batch * inputs *
// outputs; relu and max_pool: one comparison per input. Bytes: every input, output and parameter once, f32.
Cost forward_cost(const LayerSpec& layer, int batch);

// Twice the forward operations (gradient by weights, gradient by inputs); once where the layer is the first one with
// parameters, whose inputs' gradient nobody needs. Bytes: what is read (inputs, output gradients, parameters) and written.
Cost backward_cost(const LayerSpec& layer, int batch);

}  // namespace xdc
