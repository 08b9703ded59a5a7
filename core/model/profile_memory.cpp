// Adds up the memory of one device.
#include "core/model/profile_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "core/base/check.hpp"
#include "core/base/quantity.hpp"

namespace xdc {
namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

int64_t bytes_of(double values) {
  const double bytes = 4 * values;
  return bytes >= static_cast<double>(kMost) ? kMost : static_cast<int64_t>(bytes);
}

int64_t added(int64_t a, int64_t b) { return a > kMost - b ? kMost : a + b; }

}  // namespace

ModelFootprint footprint(const CostProfile& profile) {
  ModelFootprint model{profile.parameters(), profile.kept_values(), 0};
  for (const auto& layer : profile.layers) model.largest_kept_values = std::max(model.largest_kept_values, layer.kept_values);
  return model;
}

ModelFootprint footprint(const NetworkSpec& network) {
  ModelFootprint model{network.parameters, 0, 0};
  const auto keep = [&](int64_t values) {
    model.kept_values += static_cast<double>(values);
    model.largest_kept_values = std::max(model.largest_kept_values, static_cast<double>(values));
  };
  for (const auto& layer : network.layers) keep(layer.inputs());
  if (!network.layers.empty()) keep(network.layers.back().outputs());
  return model;
}

int64_t MemoryNeed::total() const { return added(added(added(state, residuals), gradient), added(exchange, activations)); }

MemoryNeed memory_need(const ModelFootprint& model, const TrainingSetup& setup) {
  XDC_CHECK(setup.sets >= 1 && setup.optimizer_tensors >= 0 && setup.residuals >= 0 && setup.exchange_elements >= 0 && setup.batch >= 0);
  const auto parameters = static_cast<double>(model.parameters);
  return {.state = bytes_of(parameters * setup.sets * (1.0 + setup.optimizer_tensors)),
          .residuals = bytes_of(static_cast<double>(setup.residuals) * setup.sets),
          .gradient = bytes_of(parameters),
          .exchange = bytes_of(static_cast<double>(setup.exchange_elements)),
          .activations = bytes_of(static_cast<double>(setup.batch) * (model.kept_values + 2 * model.largest_kept_values))};
}

int64_t memory_bytes(const ModelFootprint& model, const TrainingSetup& setup) { return memory_need(model, setup).total(); }

std::string describe(const MemoryNeed& need) {
  std::vector<std::string> parts;
  const auto add = [&](int64_t bytes, const char* what) {
    if (bytes > 0) parts.push_back(fmt::format("{} of {}", format_bytes(static_cast<double>(bytes)), what));
  };
  add(need.state, "parameters and optimizer state");
  add(need.residuals, "residuals of encodings");
  add(need.gradient, "gradients");
  add(need.exchange, "exchange buffers");
  add(need.activations, "activations");
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace xdc
