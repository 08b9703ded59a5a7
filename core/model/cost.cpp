// Counts the operations and bytes of each kind of layer.
#include "core/model/cost.hpp"

#include "core/base/check.hpp"

namespace xdc {
namespace {

double operations_per_sample(const LayerSpec& layer) {
  switch (layer.kind) {
    case LayerKind::conv2d:
      return 2.0 * static_cast<double>(layer.outputs()) * layer.in_channels * layer.kernel * layer.kernel;
    case LayerKind::dense:
      return 2.0 * static_cast<double>(layer.inputs()) * static_cast<double>(layer.outputs());
    case LayerKind::relu:
    case LayerKind::max_pool:
      return static_cast<double>(layer.inputs());
  }
  XDC_CHECK_MSG(false, "unknown kind of layer");
}

// Layers hold their parameters in order, so only the first one that has any starts at 0.
bool needs_input_gradient(const LayerSpec& layer) { return layer.parameters == 0 || layer.first_parameter > 0; }

}  // namespace

Cost forward_cost(const LayerSpec& layer, int batch) {
  const double values = static_cast<double>(layer.inputs() + layer.outputs()) * batch + static_cast<double>(layer.parameters);
  return {operations_per_sample(layer) * batch, 4.0 * values};
}

Cost backward_cost(const LayerSpec& layer, int batch) {
  const double inputs = static_cast<double>(layer.inputs()) * batch;
  const double outputs = static_cast<double>(layer.outputs()) * batch;
  const double operations = operations_per_sample(layer) * batch;
  if (layer.parameters == 0) {
    return {operations, 4.0 * (inputs + 2.0 * outputs)};
  }
  const auto parameters = static_cast<double>(layer.parameters);
  if (!needs_input_gradient(layer)) {
    return {operations, 4.0 * (inputs + outputs + parameters)};
  }
  return {2.0 * operations, 4.0 * (2.0 * inputs + 2.0 * outputs + 2.0 * parameters)};
}

}  // namespace xdc
