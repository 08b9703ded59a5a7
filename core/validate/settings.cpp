#include "core/validate/settings.hpp"

#include <fmt/format.h>

namespace xdc {

void note_settings(const Scenario& scenario, const ScenarioVariant& variant, RunSpec& spec) {
  const auto add = [&spec](const char* key, std::string text) { spec.settings.emplace_back(key, std::move(text)); };
  const auto written = [&variant](const char* key) {
    const Value* value = variant.find(key);
    return value == nullptr ? std::string() : canonical_text(*value);
  };
  add("variant", variant.name);
  add("seed", std::to_string(spec.seed));
  add("numerics", spec.numerics == Numerics::portable ? "portable" : "native");
  add("model", fmt::format("{}, {} parameters", spec.model_name, spec.network.parameters));
  add("cost_profile", spec.profile == nullptr ? "" : spec.profile->name);
  add("data",
      fmt::format("{}, {} samples of {} x {} x {}, {} classes, partition {} {}", scenario.data.source, spec.data.train_samples,
                  spec.data.channels, spec.data.height, spec.data.width, spec.data.classes, scenario.data.partition, scenario.data.alpha));
  std::vector<std::string> shares;
  for (size_t d = 0; d < spec.data.samples_per_datacenter.size(); ++d) {
    shares.push_back(fmt::format("{} in {}", spec.data.samples_per_datacenter[d], spec.topology.datacenters[d].name));
  }
  add("samples", fmt::format("{}", fmt::join(shares, ", ")));
  add("optimizer", variant.train.optimizer ? canonical_text(*variant.train.optimizer) : "");
  add("strategy", written("strategy"));
  add("codec", written("codec"));
  const auto kind = spec.train.optimizer.schedule.kind;
  // The learning rate of every step hangs on the last one.
  if (kind == ScheduleKind::linear || kind == ScheduleKind::cosine) {
    const auto& stop = spec.train.stop;
    add("stop", fmt::format("{} steps, {} samples, {} epochs", stop.steps.value_or(0), stop.samples.value_or(0), stop.epochs.value_or(0)));
  }
}

void check_checkpoint(const Scenario& scenario, const ScenarioVariant& variant, const RunSpec& spec, Diagnostics& diagnostics) {
  if (spec.plan.pushes_freely()) {
    diagnostics.error(
        scenario.checkpoint->where, "checkpoint",
        fmt::format("variant \"{}\" applies pushes one by one (mode = \"ssp\" or \"async\"): there is no step that everybody has "
                    "applied and nobody has gone beyond, so nothing that could be saved; run it from a scenario without [checkpoint]",
                    variant.name));
  }
  if (!scenario.checkpoint->best.empty() && scenario.phantom) {
    diagnostics.error(scenario.checkpoint->where, "checkpoint.best", "a phantom run has no accuracy and no loss to keep the best by");
  }
}

}  // namespace xdc
