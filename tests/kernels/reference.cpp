// The naive network.
#include "tests/kernels/reference.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/rng.hpp"
#include "core/math/cpu_kernels.hpp"

namespace xdc {
namespace {

Doubles conv(const LayerSpec& l, const double* p, const Doubles& x) {
  Doubles y(static_cast<size_t>(l.outputs()));
  const double* bias = p + (l.parameters - l.out_channels);
  for (int o = 0; o < l.out_channels; ++o) {
    for (int r = 0; r < l.out_height; ++r) {
      for (int c = 0; c < l.out_width; ++c) {
        double sum = bias[o];
        for (int i = 0; i < l.in_channels; ++i) {
          for (int kr = 0; kr < l.kernel; ++kr) {
            for (int kc = 0; kc < l.kernel; ++kc) {
              const int row = r + kr - l.padding;
              const int column = c + kc - l.padding;
              if (0 <= row && row < l.in_height && 0 <= column && column < l.in_width) {
                sum += p[((o * l.in_channels + i) * l.kernel + kr) * l.kernel + kc] *
                       x[static_cast<size_t>((i * l.in_height + row) * l.in_width + column)];
              }
            }
          }
        }
        y[static_cast<size_t>((o * l.out_height + r) * l.out_width + c)] = sum;
      }
    }
  }
  return y;
}

Doubles dense(const LayerSpec& l, const double* p, const Doubles& x) {
  Doubles y(static_cast<size_t>(l.out_channels));
  for (size_t o = 0; o < y.size(); ++o) {
    y[o] = p[static_cast<size_t>(l.inputs()) * y.size() + o];
    for (size_t i = 0; i < x.size(); ++i) {
      y[o] += p[o * x.size() + i] * x[i];
    }
  }
  return y;
}

Doubles max_pool(const LayerSpec& l, const Doubles& x) {
  Doubles y;
  for (int channel = 0; channel < l.out_channels; ++channel) {
    for (int r = 0; r < l.out_height; ++r) {
      for (int c = 0; c < l.out_width; ++c) {
        double most = -INFINITY;
        for (int kr = 0; kr < l.kernel; ++kr) {
          for (int kc = 0; kc < l.kernel; ++kc) {
            most = std::max(most, x[static_cast<size_t>((channel * l.in_height + r * l.kernel + kr) * l.in_width + c * l.kernel + kc)]);
          }
        }
        y.push_back(most);
      }
    }
  }
  return y;
}

}  // namespace

Doubles reference_logits(const NetworkSpec& spec, const Doubles& parameters, const Doubles& image) {
  Doubles x = image;
  for (const LayerSpec& layer : spec.layers) {
    const double* own = parameters.data() + layer.first_parameter;
    switch (layer.kind) {
      case LayerKind::conv2d:
        x = conv(layer, own, x);
        break;
      case LayerKind::dense:
        x = dense(layer, own, x);
        break;
      case LayerKind::relu:
        std::ranges::transform(x, x.begin(), [](double v) { return std::max(v, 0.0); });
        break;
      case LayerKind::max_pool:
        x = max_pool(layer, x);
        break;
    }
  }
  return x;
}

double reference_loss(const NetworkSpec& spec, const Doubles& parameters, const std::vector<Doubles>& images,
                      const std::vector<int32_t>& labels, double scale) {
  double loss = 0;
  for (size_t i = 0; i < images.size(); ++i) {
    const Doubles z = reference_logits(spec, parameters, images[i]);
    const double most = *std::ranges::max_element(z);
    double sum = 0;
    for (const double one : z) {
      sum += std::exp(one - most);
    }
    loss += std::log(sum) + most - z[static_cast<size_t>(labels[i])];
  }
  return loss * scale;
}

double reference_derivative(const NetworkSpec& spec, Doubles parameters, const std::vector<Doubles>& images,
                            const std::vector<int32_t>& labels, double scale, size_t at) {
  constexpr double kStep = 1e-5;
  const double here = parameters[at];
  parameters[at] = here + kStep;
  const double above = reference_loss(spec, parameters, images, labels, scale);
  parameters[at] = here - kStep;
  const double below = reference_loss(spec, parameters, images, labels, scale);
  return (above - below) / (2 * kStep);
}

NetworkSketch& NetworkSketch::add(LayerKind kind, int out_channels, int out_height, int out_width, int kernel, int padding,
                                  int64_t weights) {
  LayerSpec l;
  l.kind = kind, l.kernel = kernel, l.padding = padding;
  l.in_channels = channels_, l.in_height = height_, l.in_width = width_;
  l.out_channels = out_channels, l.out_height = out_height, l.out_width = out_width;
  l.first_parameter = spec_.parameters;
  l.parameters = weights == 0 ? 0 : weights + out_channels;
  spec_.parameters += l.parameters;
  spec_.layers.push_back(l);
  channels_ = out_channels, height_ = out_height, width_ = out_width;
  return *this;
}

NetworkSketch& NetworkSketch::conv(int out_channels, int kernel, int padding) {
  const int border = 2 * padding - kernel + 1;
  return add(LayerKind::conv2d, out_channels, height_ + border, width_ + border, kernel, padding,
             int64_t{out_channels} * channels_ * kernel * kernel);
}
NetworkSketch& NetworkSketch::dense(int outputs) {
  return add(LayerKind::dense, outputs, 1, 1, 0, 0, int64_t{outputs} * channels_ * height_ * width_);
}
NetworkSketch& NetworkSketch::relu() { return add(LayerKind::relu, channels_, height_, width_, 0, 0, 0); }
NetworkSketch& NetworkSketch::pool(int kernel) {
  return add(LayerKind::max_pool, channels_, height_ / kernel, width_ / kernel, kernel, 0, 0);
}
NetworkSpec NetworkSketch::spec() const {
  NetworkSpec spec = spec_;
  spec.classes = static_cast<int>(spec.layers.back().outputs());
  return spec;
}

Kernels& cpu() {
  static CpuKernels kernels;
  return kernels;
}

Tensor tensor_of(std::vector<float>& values) {
  return Tensor::flat({Space::device, reinterpret_cast<std::byte*>(values.data()), values.size() * sizeof(float)}, DType::f32,
                      static_cast<int64_t>(values.size()));
}
Tensor tensor_of(std::vector<int32_t>& values) {
  return Tensor::flat({Space::device, reinterpret_cast<std::byte*>(values.data()), values.size() * sizeof(int32_t)}, DType::i32,
                      static_cast<int64_t>(values.size()));
}

Subject::Subject(NetworkSpec network_spec, int batch_size, uint64_t seed)
    : spec(std::move(network_spec)),
      batch(batch_size),
      parameters(static_cast<size_t>(spec.parameters)),
      images(static_cast<size_t>(batch * spec.inputs())),
      gradient(static_cast<size_t>(spec.parameters)),
      loss(1),
      labels(static_cast<size_t>(batch)),
      network(cpu().compile(spec, batch).value()) {
  RandomStream random(seed, "test/subject");
  for (const LayerSpec& layer : spec.layers) {
    // Of a size that keeps activations of every layer near 1.
    const double fan_in = layer.kind == LayerKind::conv2d ? layer.in_channels * layer.kernel * layer.kernel : double(layer.inputs());
    for (int64_t i = 0; i < layer.parameters; ++i) {
      parameters[static_cast<size_t>(layer.first_parameter + i)] = static_cast<float>(random.normal() * std::sqrt(2.0 / fan_in));
    }
  }
  std::ranges::generate(images, [&] { return static_cast<float>(random.normal()); });
  std::ranges::generate(labels, [&] { return static_cast<int32_t>(random.below(static_cast<uint64_t>(spec.classes))); });
}

float Subject::run(int count, float scale, bool accumulate) {
  network->forward({}, tensor_of(parameters), tensor_of(images), tensor_of(labels), count, scale, tensor_of(loss));
  for (int layer = static_cast<int>(spec.layers.size()) - 1; layer >= 0; --layer) {
    network->backward_layer({}, layer, tensor_of(parameters), tensor_of(gradient), accumulate);
  }
  return loss[0];
}

std::vector<Doubles> Subject::images_in_double(int count) const {
  std::vector<Doubles> all;
  for (int i = 0; i < count; ++i) {
    const auto first = images.begin() + static_cast<std::ptrdiff_t>(i * spec.inputs());
    all.emplace_back(first, first + static_cast<std::ptrdiff_t>(spec.inputs()));
  }
  return all;
}

}  // namespace xdc
