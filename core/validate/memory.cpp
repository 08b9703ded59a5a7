#include "core/validate/memory.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/quantity.hpp"
#include "core/model/profile_memory.hpp"
#include "core/optim/optimizer.hpp"
#include "core/strategies/registry.hpp"

namespace xdc {
namespace {

std::string text_of(int64_t bytes) { return format_bytes(static_cast<double>(bytes)); }

struct Held {
  ModelFootprint model;
  TrainingSetup setup;

  MemoryNeed need() const {
    MemoryNeed need = memory_need(model, setup);
    if (setup.batch == 0) need.gradient = 0;  // who has no samples has only what it is sent
    return need;
  }
};

Held held_by(const RunSpec& spec, const Member& member) {
  StrategyPlan plan = spec.plan;
  plan.real_parameters = 0;  // ranges of planned elements: what the charged model would hold
  const auto& kind = strategy_of(plan.spec);
  const auto holdings = kind.holdings != nullptr ? kind.holdings(plan, member.id) : Holdings{.parameters = plan.parameters};
  Held held{spec.profile != nullptr ? footprint(*spec.profile) : footprint(spec.network), {}};
  held.model.parameters = holdings.parameters;
  held.setup.sets = holdings.sets > 0 ? holdings.sets : spec.state_sets();
  held.setup.optimizer_tensors = holdings.optimizer ? Optimizer(spec.train.optimizer, 0).state_tensors() : 0;
  held.setup.exchange_elements = holdings.inbox_elements;
  const bool works = member.role == Role::worker;
  held.setup.batch = works ? spec.train.batch_per_datacenter[static_cast<size_t>(member.datacenter)] : 0;
  if (works && (plan.codecs.wan.error_feedback || plan.codecs.lan.error_feedback)) {
    held.setup.residuals = kind.residuals(plan, member.id).elements();
  }
  return held;
}

std::string advice(const Held& held, bool works, int64_t memory) {
  const auto fits = [&](auto change) {
    Held other = held;
    change(other.setup);
    return other.need().total() <= memory;
  };
  std::vector<std::string> ways;
  int64_t low = 0, high = held.setup.batch;  // fits, were it a batch; does not fit
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    (fits([&](TrainingSetup& setup) { setup.batch = middle; }) ? low : high) = middle;
  }
  if (low > 0) ways.push_back(fmt::format("batch_per_rank = {} would fit, and accumulation_steps keep the step as large", low));
  if (held.setup.sets == 3 && fits([](TrainingSetup& setup) { setup.sets = 2; })) {
    ways.emplace_back("commit = \"vote\" would fit, with a set less");
  }
  if (!works) ways.emplace_back("more shards, placement = \"sharded\" or aggregator = true leave each server less to hold");
  ways.push_back(
      fmt::format("give the datacenter a {} with more memory: a [device.NAME] of the topology may stand for several that "
                  "share a model",
                  works ? "device" : "server_device"));
  return fmt::format("{}", fmt::join(ways, "; or "));
}

}  // namespace

void MemoryCheck::check(const ScenarioVariant& variant, const RunSpec& spec) {
  const auto& members = spec.cluster().members;
  const auto what = spec.profile != nullptr ? spec.profile->name : spec.model_name;
  for (size_t d = 0; d < spec.devices.size(); ++d) {
    for (const bool works : {true, false}) {
      // Members of one kind and datacenter differ by the remainder of a division, and the first have it.
      const auto first = std::find_if(members.begin(), members.end(), [&](const Member& m) {
        return m.datacenter == static_cast<int>(d) && (m.role == Role::worker) == works;
      });
      if (first == members.end()) continue;
      const auto& device = (works ? spec.devices : spec.server_devices)[d];
      const Held held = held_by(spec, *first);
      const MemoryNeed need = held.need();
      if (need.total() <= device.memory_bytes) continue;
      const char* key = works ? "model" : "strategy";
      Misfit misfit{
          variant.find(key)->where,
          variant.path_of(key),
          fmt::format("{} does not fit a {} of datacenter {}", what, works ? "rank" : "server", spec.cluster().datacenters[d]),
          fmt::format("the {} {} has {}, but at least {} are needed: {} ({} sets of state{}); {}", works ? "device" : "server_device",
                      device.name, text_of(device.memory_bytes), text_of(need.total()), describe(need), held.setup.sets,
                      works ? fmt::format(", a batch of {}", held.setup.batch) : "", advice(held, works, device.memory_bytes)),
          {variant.name}};
      const auto same = std::find_if(misfits_.begin(), misfits_.end(), [&](const Misfit& other) {
        return other.path == misfit.path && other.who == misfit.who && other.why == misfit.why;
      });
      if (same != misfits_.end()) {
        same->variants.push_back(variant.name);
      } else {
        misfits_.push_back(std::move(misfit));
      }
    }
  }
}

void MemoryCheck::report(Diagnostics& diagnostics) const {
  for (const auto& misfit : misfits_) {
    diagnostics.error(misfit.where, misfit.path,
                      fmt::format("{} (variant{} {}): {}", misfit.who, misfit.variants.size() == 1 ? "" : "s",
                                  fmt::join(misfit.variants, ", "), misfit.why));
  }
}

}  // namespace xdc
