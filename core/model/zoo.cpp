// Builds each model of the zoo layer by layer: every layer takes the shape that the one before gives.
#include "core/model/zoo.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <limits>

namespace xdc {
namespace {

class Builder {
 public:
  Builder(int channels, int height, int width) : channels_(channels), height_(height), width_(width) {}

  Builder& conv2d(int out_channels, int kernel, int padding) {
    const int64_t weights = int64_t{out_channels} * channels_ * kernel * kernel;
    add(LayerKind::conv2d, out_channels, height_ + 2 * padding - kernel + 1, width_ + 2 * padding - kernel + 1, kernel, padding,
        weights + out_channels);
    return *this;
  }
  Builder& dense(int outputs) {
    const int64_t weights = int64_t{outputs} * channels_ * height_ * width_;
    add(LayerKind::dense, outputs, 1, 1, 0, 0, weights + outputs);
    return *this;
  }
  Builder& relu() {
    add(LayerKind::relu, channels_, height_, width_, 0, 0, 0);
    return *this;
  }
  Builder& max_pool(int kernel) {
    add(LayerKind::max_pool, channels_, height_ / kernel, width_ / kernel, kernel, 0, 0);
    return *this;
  }
  NetworkSpec finish(int classes) {
    spec_.classes = classes;
    return std::move(spec_);
  }

 private:
  void add(LayerKind kind, int out_channels, int out_height, int out_width, int kernel, int padding, int64_t parameters) {
    LayerSpec layer;
    layer.kind = kind;
    layer.in_channels = channels_, layer.in_height = height_, layer.in_width = width_;
    layer.out_channels = out_channels, layer.out_height = out_height, layer.out_width = out_width;
    layer.kernel = kernel, layer.padding = padding;
    layer.first_parameter = spec_.parameters, layer.parameters = parameters;
    spec_.parameters += parameters;
    spec_.layers.push_back(layer);
    channels_ = out_channels, height_ = out_height, width_ = out_width;
  }

  NetworkSpec spec_;
  int channels_, height_, width_;
};

constexpr int kLenetLeastSide = 12;  // two pools and an unpadded 5x5 leave one row

}  // namespace

const std::vector<std::string>& model_names() {
  static const std::vector<std::string> names{"lenet", "linear", "mlp"};
  return names;
}

Result<NetworkSpec> make_network(std::string_view kind, int channels, int height, int width, int classes) {
  const auto invalid = [&](const std::string& why) { return Error{ErrorCode::invalid, fmt::format("model {}: {}", kind, why)}; };
  if (channels < 1 || height < 1 || width < 1) {
    return invalid(fmt::format("images of {} x {} x {} have no pixels", channels, height, width));
  }
  if (int64_t{channels} * height * width > std::numeric_limits<int32_t>::max() / 128) {
    return invalid(fmt::format("images of {} x {} x {} are too large", channels, height, width));
  }
  if (classes < 2) {
    return invalid(fmt::format("needs at least 2 classes, the data has {}", classes));
  }
  Builder builder(channels, height, width);
  if (kind == "linear") {
    return builder.dense(classes).finish(classes);
  }
  if (kind == "mlp") {
    return builder.dense(128).relu().dense(classes).finish(classes);
  }
  if (kind == "lenet") {
    if (height < kLenetLeastSide || width < kLenetLeastSide) {
      return invalid(fmt::format("needs images of at least {0} x {0}, the data has {1} x {2}", kLenetLeastSide, height, width));
    }
    builder.conv2d(6, 5, 2).relu().max_pool(2).conv2d(16, 5, 0).relu().max_pool(2);
    return builder.dense(120).relu().dense(84).relu().dense(classes).finish(classes);
  }
  return invalid(fmt::format("no such model; there are {}", fmt::join(model_names(), ", ")));
}

}  // namespace xdc
