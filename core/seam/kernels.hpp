// Which arithmetic does a device offer? Each call enqueues on a stream; nothing here costs modelled time (Device::charge).
// The CPU implementation (core/math) is the oracle: it adds in a fixed order on one thread, and every other device is held
// to it within the tolerance written beside the operation in tests/kernels.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/result.hpp"
#include "core/seam/bytes.hpp"
#include "core/seam/codec_spec.hpp"
#include "core/seam/device.hpp"

namespace xdc {

enum class LayerKind : uint8_t { conv2d, dense, relu, max_pool };

// One layer of a feed-forward network. Activations are [batch, channels, height, width] to the reader; how a device lays
// them out between layers is its own affair.
//   conv2d    stride 1, zero padding `padding`, square `kernel`; weights [out, in, kernel, kernel], then bias [out]
//   dense     flattens its input; weights [out, in], then bias [out]
//   relu      y = max(x, 0); its derivative at 0 is 0
//   max_pool  `kernel` x `kernel`, stride `kernel`, no padding; a tie goes to the first element in row-major order
struct LayerSpec {
  LayerKind kind = LayerKind::dense;
  int in_channels = 0, in_height = 1, in_width = 1;
  int out_channels = 0, out_height = 1, out_width = 1;
  int kernel = 0;
  int padding = 0;
  int64_t first_parameter = 0;  // its place in the flat parameter buffer: weights, then bias
  int64_t parameters = 0;       // 0 for layers that have none

  int64_t inputs() const { return int64_t{in_channels} * in_height * in_width; }
  int64_t outputs() const { return int64_t{out_channels} * out_height * out_width; }
};

struct NetworkSpec {
  std::vector<LayerSpec> layers;
  int classes = 0;
  int64_t parameters = 0;  // elements of the flat buffer

  int64_t inputs() const { return layers.empty() ? 0 : layers.front().inputs(); }
};

struct EvaluationSums {
  double loss = 0;      // sum over samples
  int64_t correct = 0;  // arg max of the logits equals the label; a tie goes to the lower class
};

// A network compiled for one device and batch size; keeps activations between forward and backward. One lane uses it.
class Network {
 public:
  virtual ~Network() = default;

  // Runs every layer and the softmax cross-entropy loss over the first `count` samples, 0 < count <= batch.
  //   parameters  f32 [spec.parameters]; not written
  //   images      f32 [batch, inputs]; rows from `count` on are ignored
  //   labels      i32 [batch]
  //   loss        f32 [1], overwritten: (sum over samples of -log softmax(logits)[label]) * loss_scale
  //   loss_scale  the gradient is that of the same scaled sum: 1/W for a contribution to a weighted mean over W samples
  virtual void forward(Stream stream, Tensor parameters, Tensor images, Tensor labels, int count, float loss_scale, Tensor loss) = 0;

  // Layer by layer from the last to the first, after forward with the same `parameters`, which are unchanged since.
  //   gradients   f32 [spec.parameters]; the layer's own range is written: overwritten, or added to when `accumulate`
  virtual void backward_layer(Stream stream, int layer, Tensor parameters, Tensor gradients, bool accumulate) = 0;

  // Forward only. Blocks. Requires the payload to be real.
  virtual EvaluationSums evaluate(Stream stream, Tensor parameters, Tensor images, Tensor labels, int count) = 0;
};

// x is read, y written; both f32 of n elements unless said otherwise. Update rules read the state before a step and write
// the state after it into other buffers (undo costs no copy); in and out may be the same buffer.
struct SgdArgs {
  Tensor parameters_in, parameters_out;
  Tensor gradient;
  Tensor momentum_in, momentum_out;  // empty (0 elements) when momentum == 0
  float learning_rate = 0;
  float momentum = 0;
  float weight_decay = 0;  // L2: g += weight_decay * p, before momentum
  bool nesterov = false;
};

struct AdamArgs {
  Tensor parameters_in, parameters_out;
  Tensor gradient;
  Tensor m_in, m_out, v_in, v_out;
  int64_t step = 1;  // t, from 1: bias corrections 1 - beta^t
  float learning_rate = 0;
  float beta1 = 0.9F, beta2 = 0.999F, epsilon = 1e-8F;
  float weight_decay = 0;
  bool decoupled = false;  // false: L2 into the gradient (Adam); true: p -= lr * weight_decay * p (AdamW)
};

struct EncodeArgs {
  CodecSpec codec;
  Tensor x;    // f32 [n], 0 <= n < 2^32; not written
  Bytes wire;  // overwritten; at a multiple of 4 bytes for int8 and top_k, of 2 for fp16 and bf16
  // f32 [n] each, or both empty: without error feedback. Encoded is p = x + residual_in; afterwards
  // residual_out = p - decode(wire), except where that is not finite: there residual_in goes along. They may not overlap.
  Tensor residual_in, residual_out;
  RoundingKey rounding;
  int64_t first_element = 0;  // x[0]'s place in the flat parameter buffer, a multiple of 256, below 2^34
};

class Kernels {
 public:
  virtual ~Kernels() = default;

  // Errors: invalid, when this device has no such layer or shape.
  virtual Result<std::unique_ptr<Network>> compile(const NetworkSpec& spec, int batch) = 0;

  // y += x.
  virtual void add(Stream stream, Tensor y, Tensor x) = 0;
  // y = a * y.
  virtual void scale(Stream stream, Tensor y, float a) = 0;

  // Kingma & Ba 2015; Loshchilov & Hutter 2019 (decoupled). m = b1 m + (1-b1) g; v = b2 v + (1-b2) g^2;
  // p -= lr * (m / (1-b1^t)) / (sqrt(v / (1-b2^t)) + eps).
  virtual void adam(Stream stream, const AdamArgs& args) = 0;
  // b = momentum * b + g; p -= lr * (nesterov ? g + momentum * b : b).
  virtual void sgd(Stream stream, const SgdArgs& args) = 0;

  // core/seam/codec_spec.hpp says what the wire looks like. Requires args.wire.size == encoded size of n elements (core/codec).
  virtual void encode(Stream stream, const EncodeArgs& args) = 0;
  // wire bytes -> x f32 [n], overwritten. Errors: failed, when the bytes are no encoding of n elements (top_k: places that do
  // not ascend or lie outside); x is then unspecified.
  virtual Status decode(Stream stream, const CodecSpec& codec, Bytes wire, Tensor x) = 0;
};

}  // namespace xdc
