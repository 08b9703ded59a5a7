#include "core/validate/validate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "core/base/digest.hpp"
#include "core/base/quantity.hpp"
#include "core/config/device_table.hpp"
#include "core/config/scenario_tables.hpp"
#include "core/data/dataset.hpp"
#include "core/data/partition.hpp"
#include "core/model/zoo.hpp"
#include "core/strategies/registry.hpp"
#include "core/validate/deadlines.hpp"
#include "core/validate/memory.hpp"
#include "core/validate/settings.hpp"

namespace xdc {
namespace {

std::vector<std::string> datacenter_names(const Topology& topology) {
  std::vector<std::string> names;
  for (const auto& datacenter : topology.datacenters) {
    names.push_back(datacenter.name);
  }
  return names;
}

// A figure for every datacenter, in the order of the topology.
std::vector<int64_t> spread(const PerDatacenter& figure, const Topology& topology, Diagnostics& diagnostics) {
  std::vector<int64_t> values(topology.datacenters.size(), figure.each.value_or(0));
  const auto names = datacenter_names(topology);
  for (const auto& [name, named] : figure.by_name) {
    const int at = topology.datacenter_index(name);
    if (at < 0) {
      const auto near = nearest_name(name, names);
      diagnostics.error(named.where, figure.path + "." + name,
                        fmt::format("the topology {} has no datacenter of this name{}; it has {}", topology.path,
                                    near.empty() ? "" : fmt::format(" (did you mean {}?)", near), fmt::join(names, ", ")));
    } else {
      values[static_cast<size_t>(at)] = named.value;
    }
  }
  for (size_t d = 0; d < names.size() && !figure.each; ++d) {
    if (figure.by_name.find(names[d]) == figure.by_name.end()) {
      diagnostics.error(figure.where, figure.path,
                        fmt::format("says nothing about datacenter {} of the topology {}", names[d], topology.path));
    }
  }
  return values;
}

// One for each datacenter: what `name_of` says it has, under `key`.
std::vector<DeviceSpec> look_up_devices(const Topology& topology, const char* key, const std::string DatacenterSpec::*name_of,
                                        Diagnostics& diagnostics) {
  std::vector<std::string> names;
  for (const auto& device : builtin_devices()) {
    names.push_back(device.name);
  }
  for (const auto& [name, device] : topology.devices) {
    names.push_back(name);
  }
  std::vector<DeviceSpec> devices;
  for (size_t d = 0; d < topology.datacenters.size(); ++d) {
    const auto& datacenter = topology.datacenters[d];
    const std::string& name = datacenter.*name_of;
    const DeviceSpec* device = find_device(topology, name);
    if (device == nullptr) {
      const auto near = nearest_name(name, names);
      diagnostics.error(datacenter.where, fmt::format("datacenter[{}].{}", d, key),
                        fmt::format("no device is called {}{}; there are {} (or describe it in [device.{}])", name,
                                    near.empty() ? "" : fmt::format(" (did you mean {}?)", near), fmt::join(names, ", "), name));
    }
    devices.push_back(device != nullptr ? *device : DeviceSpec{});
  }
  return devices;
}

// The samples of each datacenter; absent: all there are, in proportion to devices.
std::vector<int64_t> samples_per_datacenter(const ScenarioData& data, const Topology& topology, int64_t there_are,
                                            Diagnostics& diagnostics) {
  if (!data.samples) {
    int64_t devices = 0;
    for (const auto& datacenter : topology.datacenters) {
      devices += datacenter.devices();
    }
    std::vector<int64_t> samples;
    int64_t before = 0;
    for (const auto& datacenter : topology.datacenters) {
      samples.push_back(there_are * (before + datacenter.devices()) / devices - there_are * before / devices);
      before += datacenter.devices();
    }
    return samples;
  }
  const auto samples = spread(*data.samples, topology, diagnostics);
  int64_t total = 0;
  for (const int64_t n : samples) {
    total += n;
  }
  if (total > there_are) {
    diagnostics.error(data.samples->where, data.samples->path,
                      fmt::format("asks for {} training samples in all, but {} has {}", total,
                                  data.path.empty() ? "the generated data" : data.path, there_are));
  }
  return samples;
}

// Generated samples of a phantom run are numbers alone; files are opened to count theirs.
Status count_samples(DataSpec& spec, const Scenario& scenario, std::shared_ptr<const Dataset>& dataset) {
  if (scenario.phantom && spec.source == DataSource::generated) {
    return ok_status();
  }
  XDC_TRY_ASSIGN(dataset, open_dataset(spec, scenario.seed));
  spec.train_samples = dataset->train().size();
  spec.test_samples = dataset->test().size();
  spec.height = dataset->shape().height;
  spec.width = dataset->shape().width;
  spec.channels = dataset->shape().channels;
  spec.classes = dataset->shape().classes;
  return ok_status();
}

struct DataPlan {
  DataSpec spec;
  std::shared_ptr<const Dataset> dataset;
  std::shared_ptr<const std::vector<std::vector<int32_t>>> partition;
  bool ok = false;
};

DataPlan plan_data(const Scenario& scenario, const Topology& topology, Diagnostics& diagnostics) {
  const auto& data = scenario.data;
  const size_t errors = diagnostics.errors().size();
  DataPlan plan;
  auto& spec = plan.spec;
  spec.source = data.source == "generated" ? DataSource::generated : DataSource::idx;
  spec.path = data.path;
  spec.train_samples = data.train_samples;
  spec.test_samples = data.test_samples;
  spec.height = data.height;
  spec.width = data.width;
  spec.channels = data.channels;
  spec.classes = data.classes;
  spec.partition = data.partition == "dirichlet" ? PartitionKind::dirichlet : PartitionKind::uniform;
  spec.alpha = data.alpha;
  std::shared_ptr<const Dataset> dataset;
  if (const auto counted = count_samples(spec, scenario, dataset); !counted.ok()) {
    diagnostics.error(data.where, "data",
                      counted.error().message + (data.source == "mnist" ? " (tools/get_data mnist fetches the files)" : ""));
    return plan;
  }
  spec.samples_per_datacenter = samples_per_datacenter(data, topology, spec.train_samples, diagnostics);
  plan.ok = diagnostics.errors().size() == errors;
  if (plan.ok && !scenario.phantom) {
    auto partition = partition_samples(spec, dataset->train().labels, scenario.seed);
    if (!partition.ok()) {
      diagnostics.error(data.where, "data.partition", partition.error().message);
      plan.ok = false;
      return plan;
    }
    plan.dataset = std::move(dataset);
    plan.partition = std::make_shared<const std::vector<std::vector<int32_t>>>(std::move(partition).value());
  }
  return plan;
}

void refuse_what_is_not_built(const Scenario& scenario, Diagnostics& diagnostics) {
  for (const auto& fault : scenario.faults) {
    diagnostics.error(fault.where, fault.path, "faults are understood, but cannot be run yet; remove the [[fault]] tables to run without");
  }
  for (const auto& variant : scenario.variants) {
    if (variant.policy.kind != "stop") {
      diagnostics.error(variant.policy.where, variant.path_of("policy"),
                        fmt::format("policy \"{}\" cannot be run yet; the only one is \"stop\"", variant.policy.kind));
    }
  }
}

// Also `spec.profile`. A phantom of a profile is all profile: a kind may be named, and then must be one, but nothing of it is needed.
void plan_model(const ScenarioVariant& variant, RunSpec& spec, Diagnostics& diagnostics) {
  const size_t errors = diagnostics.errors().size();
  TableReader table(*variant.find("model"), variant.path_of("model"), diagnostics);
  const bool phantom = spec.payload == PayloadKind::phantom;
  const std::string profile = table.string("cost_profile", "");
  if (table.has("cost_profile") && diagnostics.errors().size() == errors) {
    const auto where = table.where("cost_profile");
    auto found = find_profile(profile.ends_with(".toml") ? resolve_path(profile, where) : profile, diagnostics, where,
                              table.path_of("cost_profile"));
    if (found.ok()) spec.profile = std::make_shared<const CostProfile>(std::move(found).value());
  }
  const bool optional = phantom && table.has("cost_profile");
  spec.model_name = optional && !table.has("kind") ? "" : table.required_one_of("kind", model_names());
  table.finish();
  if (spec.model_name.empty() || (phantom && spec.profile != nullptr)) {
    return;
  }
  auto network = make_network(spec.model_name, spec.data.channels, spec.data.height, spec.data.width, spec.data.classes);
  if (network.ok()) {
    spec.network = std::move(network).value();
  } else {
    diagnostics.error(table.where("kind"), table.path_of("kind"), network.error().message);
  }
}

// Messages count their buckets in 24 bits, and long before that nothing but latency is left.
constexpr size_t kMostBuckets = 65'536;

void plan_buckets_of(const ScenarioVariant& variant, RunSpec& spec, Diagnostics& diagnostics) {
  auto& plan = spec.plan;
  plan.parameters = spec.profile != nullptr ? spec.profile->parameters() : spec.network.parameters;
  plan.real_parameters = spec.network.parameters;
  const int64_t bytes = spec.train.bucket_bytes.value_or(default_bucket_bytes(plan.parameters));
  if ((plan.parameters * 4 - 1) / bytes >= static_cast<int64_t>(kMostBuckets)) {
    diagnostics.error(variant.train.where, variant.path_of("train") + ".bucket",
                      fmt::format("cuts {} parameters into more than {} buckets; a bucket of {} or more is wanted", plan.parameters,
                                  kMostBuckets, format_bytes(static_cast<double>(plan.parameters) * 4 / kMostBuckets)));
    return;
  }
  plan.buckets = plan_buckets(plan.parameters, bytes);
}

void plan_batches(const ScenarioVariant& variant, const Topology& topology, RunSpec& spec, Diagnostics& diagnostics) {
  const auto& figure = variant.train.batch_per_rank;
  const auto batches = spread(figure, topology, diagnostics);
  for (size_t d = 0; d < batches.size(); ++d) {
    const auto& datacenter = topology.datacenters[d];
    const int64_t share = spec.data.samples_per_datacenter[d] / datacenter.devices();
    if (batches[d] * variant.train.accumulation_steps > share) {
      const auto named = figure.by_name.find(datacenter.name);
      diagnostics.error(
          named != figure.by_name.end() ? named->second.where : figure.where, figure.path,
          fmt::format(
              "a batch of {} per rank{}, but a rank of {} has only {} samples ({} samples over {} devices)", batches[d],
              variant.train.accumulation_steps == 1 ? "" : fmt::format(" and {} of them in a step", variant.train.accumulation_steps),
              datacenter.name, share, spec.data.samples_per_datacenter[d], datacenter.devices()));
    }
    spec.train.batch_per_datacenter.push_back(static_cast<int>(std::min<int64_t>(batches[d], share)));
  }
}

void plan_training(const ScenarioVariant& variant, RunSpec& spec, Diagnostics& diagnostics) {
  const auto& train = variant.train;
  spec.train.stop = {train.stop.steps, train.stop.samples, train.stop.epochs, train.stop.time};
  spec.train.eval_every = train.eval_every;
  if (train.target) {
    spec.train.target = TargetSpec{train.target->metric, train.target->value};
  }
  spec.train.bucket_bytes = train.bucket_bytes;
  spec.train.accumulation_steps = static_cast<int>(train.accumulation_steps);
  spec.expect = {variant.expect.accuracy_at_least, variant.expect.loss_at_most, variant.expect.updates_lost};
  spec.commit_by_vote = variant.commit_by_vote;
  if (!train.optimizer) {
    return;
  }
  TableReader table(*train.optimizer, train.optimizer_path, diagnostics);
  spec.train.optimizer = read_optimizer(table);
  table.finish();
  const auto kind = spec.train.optimizer.schedule.kind;
  if (train.stop.time && (kind == ScheduleKind::linear || kind == ScheduleKind::cosine)) {
    diagnostics.error(table.where("schedule"), table.path_of("schedule"),
                      "a schedule that falls to the end of the run needs to know the number of steps, but train.stop is a time; use stop = "
                      "{ steps = ... } "
                      "or a constant or step schedule");
  }
}

void plan_strategy(const ScenarioVariant& variant, const Topology& topology, RunSpec& spec, Diagnostics& diagnostics) {
  const Value* value = variant.find("strategy");
  auto& plan = spec.plan;
  const StrategyKind* kind = read_strategy(*value, variant.path_of("strategy"), topology, diagnostics, plan.spec);
  if (const Value* codec = variant.find("codec"); codec != nullptr) {
    TableReader table(*codec, variant.path_of("codec"), diagnostics);
    plan.codecs = read_codecs(table);
    table.finish();
  }
  if (kind == nullptr || (spec.profile == nullptr && spec.network.parameters == 0)) {
    return;
  }
  plan.cluster = make_cluster(topology);
  kind->add_members(plan.spec, topology, plan.cluster);
  plan.seed = spec.seed;
  plan_buckets_of(variant, spec, diagnostics);
  if (plan.buckets.empty()) {
    return;
  }
  const Status resolved = kind->resolve(plan, topology);
  if (!resolved.ok()) {
    diagnostics.error(value->where, variant.path_of("strategy"), resolved.error().message);
  }
  if (const Value* commit = variant.find("commit"); commit != nullptr && spec.commit_by_vote && plan.pushes_freely()) {
    diagnostics.error(
        commit->where, variant.path_of("commit"),
        "\"vote\" asks everyone after each round, but with this strategy's mode a round is one worker's push, and nobody waits for "
        "the others; leave it out");
  }
}

// Whoever started a scenario must see why another file's errors concern it.
void point_to_topology(const Scenario& scenario, Diagnostics& diagnostics) {
  const auto& errors = diagnostics.errors();
  const bool at_fault =
      std::any_of(errors.begin(), errors.end(), [&](const Diagnostic& error) { return error.where.file == scenario.topology_path; });
  if (at_fault) {
    diagnostics.error(scenario.topology_where, "topology", fmt::format("{} has errors", scenario.topology_path));
  }
}

// A profile is part of what was asked for: other figures in its file are another scenario.
void add_profiles_to_digest(std::vector<RunSpec>& specs) {
  std::string figures;
  for (const auto& spec : specs) {
    if (spec.profile == nullptr) continue;
    figures += fmt::format("\n{}: {}", spec.variant, spec.profile->name);
    for (const auto& layer : spec.profile->layers) {
      figures += fmt::format("\n{} {} {} {} {} {} {}", layer.name, layer.parameters, layer.forward_flops, layer.backward_flops,
                             layer.forward_values, layer.backward_values, layer.kept_values);
    }
  }
  if (figures.empty()) return;
  Digest digest;
  digest.update(specs.front().scenario_digest);
  digest.update(figures);
  const auto text = digest.hex();
  for (auto& spec : specs) spec.scenario_digest = text;
}

std::vector<RunSpec> plan_variants(const Scenario& scenario, Diagnostics& diagnostics) {
  refuse_what_is_not_built(scenario, diagnostics);
  if (scenario.topology_path.empty()) {
    return {};  // reported when the scenario was read
  }
  auto topology = read_topology(scenario.topology_path, diagnostics, scenario.topology_where);
  if (!topology.ok()) {
    return {};
  }
  RunSpec common;
  common.topology = std::move(topology).value();
  common.scenario_path = scenario.path;
  common.scenario_digest = scenario_digest(scenario, common.topology.canonical);
  common.seed = scenario.seed;
  common.payload = scenario.phantom ? PayloadKind::phantom : PayloadKind::real;
  common.numerics = scenario.native_numerics ? Numerics::native : Numerics::portable;
  common.devices = look_up_devices(common.topology, "device", &DatacenterSpec::device, diagnostics);
  common.server_devices = look_up_devices(common.topology, "server_device", &DatacenterSpec::server_device, diagnostics);
  const DataPlan data = plan_data(scenario, common.topology, diagnostics);
  common.data = data.spec;
  common.dataset = data.dataset;
  common.partition = data.partition;

  // Errors in what all variants share would be told again by each.
  const bool sound = diagnostics.ok();
  MemoryCheck memory;
  std::vector<RunSpec> specs;
  for (const auto& variant : scenario.variants) {
    const size_t errors = diagnostics.errors().size();
    RunSpec spec = common;
    spec.variant = variant.name;
    plan_training(variant, spec, diagnostics);
    if (data.ok) {
      plan_batches(variant, common.topology, spec, diagnostics);
      if (variant.find("model") != nullptr) {
        plan_model(variant, spec, diagnostics);
      }
    }
    if (variant.find("strategy") != nullptr) {
      plan_strategy(variant, common.topology, spec, diagnostics);
    }
    if (scenario.checkpoint) {
      spec.checkpoint = CheckpointSpec{scenario.checkpoint->every, scenario.checkpoint->keep, scenario.checkpoint->best};
      check_checkpoint(scenario, variant, spec, diagnostics);
    }
    note_settings(scenario, variant, spec);
    if (sound && diagnostics.errors().size() == errors) {
      memory.check(variant, spec);
      set_deadlines(spec);
    }
    specs.push_back(std::move(spec));
  }
  memory.report(diagnostics);
  add_profiles_to_digest(specs);
  return specs;
}

}  // namespace

std::vector<RunSpec> validate(const Scenario& scenario, Diagnostics& diagnostics) {
  auto specs = plan_variants(scenario, diagnostics);
  point_to_topology(scenario, diagnostics);
  return specs;
}

}  // namespace xdc
