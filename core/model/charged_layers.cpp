// Lays a model's layers out in its flat buffer, in the order of forward.
#include "core/model/charged_layers.hpp"

#include <algorithm>

#include "core/model/cost.hpp"

namespace xdc {

ChargedLayers::ChargedLayers(const NetworkSpec& network, const CostProfile* profile) : network_(&network), profile_(profile) {
  int64_t end = 0;
  const auto lay_out = [&](const auto& layers) {
    for (const auto& layer : layers) end_.push_back(end += layer.parameters);
  };
  if (profile != nullptr) {
    lay_out(profile->layers);
  } else {
    lay_out(network.layers);
  }
}

Cost ChargedLayers::forward(int layer, int batch) const {
  const auto at = static_cast<size_t>(layer);
  return profile_ != nullptr ? forward_cost(profile_->layers[at], batch) : forward_cost(network_->layers[at], batch);
}

Cost ChargedLayers::backward(int layer, int batch) const {
  const auto at = static_cast<size_t>(layer);
  return profile_ != nullptr ? backward_cost(profile_->layers[at], batch) : backward_cost(network_->layers[at], batch);
}

int ChargedLayers::lowest_within(int64_t begin, int64_t end) const {
  if (end <= begin) return std::max(0, count() - 1);
  return static_cast<int>(std::upper_bound(end_.begin(), end_.end(), begin) - end_.begin());
}

}  // namespace xdc
