// Checks a network's shapes, layer by layer.
#include "core/math/network_check.hpp"

#include <fmt/format.h>

namespace xdc {
namespace {

struct Shape {
  int channels = 0, height = 0, width = 0;
  friend bool operator==(Shape, Shape) = default;
};

Shape input_of(const LayerSpec& layer) { return {layer.in_channels, layer.in_height, layer.in_width}; }
Shape output_of(const LayerSpec& layer) { return {layer.out_channels, layer.out_height, layer.out_width}; }

// What the layer makes of its input, and how many parameters that takes.
Shape output_wanted(const LayerSpec& layer) {
  switch (layer.kind) {
    case LayerKind::conv2d: {
      const int border = 2 * layer.padding - layer.kernel + 1;
      return {layer.out_channels, layer.in_height + border, layer.in_width + border};
    }
    case LayerKind::dense:
      return {layer.out_channels, 1, 1};
    case LayerKind::relu:
      return input_of(layer);
    case LayerKind::max_pool:
      return {layer.in_channels, layer.in_height / layer.kernel, layer.in_width / layer.kernel};
  }
  return {};
}

int64_t parameters_wanted(const LayerSpec& layer) {
  switch (layer.kind) {
    case LayerKind::conv2d:
      return int64_t{layer.out_channels} * layer.in_channels * layer.kernel * layer.kernel + layer.out_channels;
    case LayerKind::dense:
      return layer.out_channels * layer.inputs() + layer.out_channels;
    case LayerKind::relu:
    case LayerKind::max_pool:
      return 0;
  }
  return 0;
}

std::string fault_of(const LayerSpec& layer) {
  const bool windowed = layer.kind == LayerKind::conv2d || layer.kind == LayerKind::max_pool;
  if (windowed && (layer.kernel < 1 || layer.padding < 0)) {
    return fmt::format("a kernel of {} with padding {}", layer.kernel, layer.padding);
  }
  const Shape in = input_of(layer);
  if (in.channels < 1 || in.height < 1 || in.width < 1) {
    return fmt::format("an input of {} x {} x {}", in.channels, in.height, in.width);
  }
  const Shape out = output_of(layer);
  const Shape wanted = output_wanted(layer);
  if (out != wanted || out.channels < 1 || out.height < 1 || out.width < 1) {
    return fmt::format("an output of {} x {} x {}; its input makes {} x {} x {}", out.channels, out.height, out.width, wanted.channels,
                       wanted.height, wanted.width);
  }
  if (layer.parameters != parameters_wanted(layer)) {
    return fmt::format("{} parameters; it takes {}", layer.parameters, parameters_wanted(layer));
  }
  return {};
}

}  // namespace

Status check_network(const NetworkSpec& spec, int batch) {
  const auto invalid = [](std::string message) { return Error{ErrorCode::invalid, std::move(message)}; };
  if (spec.layers.empty() || batch < 1) {
    return invalid(fmt::format("a network of {} layers for a batch of {}", spec.layers.size(), batch));
  }
  int64_t parameters = 0;
  for (size_t i = 0; i < spec.layers.size(); ++i) {
    const LayerSpec& layer = spec.layers[i];
    if (const std::string fault = fault_of(layer); !fault.empty()) {
      return invalid(fmt::format("layer {} has {}", i, fault));
    }
    const bool flattens = layer.kind == LayerKind::dense;
    if (i > 0 && (flattens ? layer.inputs() != spec.layers[i - 1].outputs() : input_of(layer) != output_of(spec.layers[i - 1]))) {
      return invalid(fmt::format("layer {} takes {} values, layer {} gives {}", i, layer.inputs(), i - 1, spec.layers[i - 1].outputs()));
    }
    if (layer.first_parameter != parameters) {
      return invalid(fmt::format("layer {} starts at parameter {}, not at {}", i, layer.first_parameter, parameters));
    }
    parameters += layer.parameters;
  }
  if (spec.parameters != parameters || spec.classes < 1 || spec.layers.back().outputs() != spec.classes) {
    return invalid(fmt::format("{} parameters and {} classes; its layers have {} and give {}", spec.parameters, spec.classes, parameters,
                               spec.layers.back().outputs()));
  }
  return ok_status();
}

}  // namespace xdc
