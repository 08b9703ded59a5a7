// What should a network compute? The definitions of core/seam/kernels.hpp in double precision, loop by loop, sharing nothing
// with the kernels; and its gradient by central differences.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/seam/kernels.hpp"

namespace xdc {

using Doubles = std::vector<double>;

// Logits of one sample.
Doubles reference_logits(const NetworkSpec& spec, const Doubles& parameters, const Doubles& image);

// (sum over samples of -log softmax(logits)[label]) * scale.
double reference_loss(const NetworkSpec& spec, const Doubles& parameters, const std::vector<Doubles>& images,
                      const std::vector<int32_t>& labels, double scale);

// d reference_loss / d parameters[at].
double reference_derivative(const NetworkSpec& spec, Doubles parameters, const std::vector<Doubles>& images,
                            const std::vector<int32_t>& labels, double scale, size_t at);

// Chains layers of any kind; each takes the shape that the one before gives.
class NetworkSketch {
 public:
  NetworkSketch(int channels, int height, int width) : channels_(channels), height_(height), width_(width) {}
  NetworkSketch& conv(int out_channels, int kernel, int padding);
  NetworkSketch& dense(int outputs);
  NetworkSketch& relu();
  NetworkSketch& pool(int kernel);
  NetworkSpec spec() const;

 private:
  NetworkSketch& add(LayerKind kind, int out_channels, int out_height, int out_width, int kernel, int padding, int64_t weights);
  NetworkSpec spec_;
  int channels_, height_, width_;
};

// A network of the kernels with the buffers it takes, random parameters, images and labels.
struct Subject {
  Subject(NetworkSpec network, int batch_size, uint64_t seed);

  // forward over the first `count` samples and backward through all layers; returns the loss.
  float run(int count, float scale, bool accumulate = false);

  std::vector<Doubles> images_in_double(int count) const;
  Doubles parameters_in_double() const { return {parameters.begin(), parameters.end()}; }
  std::vector<int32_t> first_labels(int count) const { return {labels.begin(), labels.begin() + count}; }

  NetworkSpec spec;
  int batch;
  std::vector<float> parameters, images, gradient, loss;
  std::vector<int32_t> labels;
  std::unique_ptr<Network> network;
};

Tensor tensor_of(std::vector<float>& values);
Tensor tensor_of(std::vector<int32_t>& values);

// One per process: the networks share its engine.
Kernels& cpu();

}  // namespace xdc
