#include "core/config/scenario_tables.hpp"

#include <fmt/format.h>

#include <filesystem>

namespace xdc {
namespace {

constexpr int64_t kMostSamples = 1'000'000'000'000;
constexpr int64_t kMostSteps = 1'000'000'000;
constexpr int64_t kLargestBatch = 1'000'000;
constexpr int64_t kMostMicroBatches = 1'000;  // times the largest batch is still an int
constexpr int64_t kMostCheckpoints = 1'000'000;
constexpr int64_t kMostGenerated = 100'000'000;
constexpr int64_t kSmallestBucket = 1'024;  // one block of 256 fp32 elements

const std::vector<std::string>& policies() {
  static const std::vector<std::string> names{"stop", "stall", "degrade"};
  return names;
}

// A number for all datacenters or a table of numbers by name. nullopt: absent.
std::optional<PerDatacenter> read_per_datacenter(TableReader& parent, std::string_view key, int64_t least, int64_t most) {
  const auto* value = parent.any(key);
  if (value == nullptr) return std::nullopt;
  PerDatacenter out;
  out.where = value->where;
  out.path = parent.path_of(key);
  if (value->table() == nullptr) {
    out.each = parent.optional_integer(key, least, most);
    return out;
  }
  TableReader table(*value, out.path, parent.diagnostics());
  for (const auto& [name, item] : *value->table()) {
    const auto number = table.optional_integer(name, least, most);
    if (number) out.by_name.emplace(name, PerDatacenter::Named{item.where, *number});
  }
  if (value->table()->empty()) parent.error(key, "names no datacenter");
  return out;
}

void read_partition(TableReader& parent, ScenarioData& data) {
  const auto* value = parent.table("partition");
  if (value == nullptr) return;
  TableReader table(*value, parent.path_of("partition"), parent.diagnostics());
  data.partition = table.required_one_of("kind", {"uniform", "dirichlet"});
  if (data.partition == "dirichlet") {
    if (!table.has("alpha"))
      table.error("alpha", "is required for a dirichlet partition (small: each datacenter sees few classes; large: all alike)");
    data.alpha = table.number("alpha", 1e-3, 1e6, 1);
  }
  table.finish();
}

void read_generated(TableReader& table, bool phantom, ScenarioData& data) {
  for (const auto key : {"train_samples", "test_samples"}) {
    if (!table.has(key) && (!phantom || key == std::string_view("train_samples"))) table.error(key, "is required for generated data");
  }
  const int64_t most = phantom ? kMostSamples : kMostGenerated;
  data.train_samples = table.integer("train_samples", 1, most, 1);
  data.test_samples = table.integer("test_samples", 1, most, 1);
  data.height = static_cast<int>(table.integer("height", 1, 4096, 28));
  data.width = static_cast<int>(table.integer("width", 1, 4096, 28));
  data.channels = static_cast<int>(table.integer("channels", 1, 1024, 1));
  data.classes = static_cast<int>(table.integer("classes", 2, 100'000, 10));
}

ScenarioStop read_stop(const Value& value, const std::string& path, Diagnostics& diagnostics) {
  TableReader table(value, path, diagnostics);
  ScenarioStop out;
  out.steps = table.optional_integer("steps", 1, kMostSteps);
  out.samples = table.optional_integer("samples", 1, kMostSamples);
  out.epochs = table.optional_integer("epochs", 1, 1'000'000);
  out.time = table.duration("time");
  if (out.time && out.time->ns <= 0) table.error("time", "must be more than 0");
  std::vector<std::string> given;
  for (const auto key : {"steps", "samples", "epochs", "time"}) {
    if (table.has(key)) given.emplace_back(key);
  }
  if (given.size() != 1 && value.table() != nullptr) {
    diagnostics.error(value.where, path,
                      given.empty()
                          ? std::string("one of steps, samples, epochs, time is required")
                          : fmt::format("exactly one of steps, samples, epochs, time is wanted, not {}; replace the whole table as in {}",
                                        fmt::join(given, " and "), "{ epochs = 2 }"));
  }
  table.finish();
  return out;
}

std::optional<ScenarioTarget> read_target(const Value& value, const std::string& path, Diagnostics& diagnostics) {
  TableReader table(value, path, diagnostics);
  ScenarioTarget out;
  out.metric = table.required_one_of("metric", {"accuracy", "loss"});
  if (!out.metric.empty()) {
    const bool accuracy = out.metric == "accuracy";
    const auto* key = accuracy ? "at_least" : "at_most";
    if (!table.has(key)) table.error(key, fmt::format("is required for the metric \"{}\"", out.metric));
    out.value = accuracy ? table.number(key, 0, 1, 1) : table.number(key, 0, 1e30, 0);
    table.finish();
  }
  return out;
}

}  // namespace

std::string resolve_path(const std::string& path, const SourceLocation& where) {
  const std::filesystem::path written(path);
  if (written.is_absolute() || where.file.starts_with("--set ")) return path;
  return (std::filesystem::path(where.file).parent_path() / written).lexically_normal().string();
}

ScenarioData read_data(const Value& value, const std::string& path, bool phantom, Diagnostics& diagnostics) {
  TableReader table(value, path, diagnostics);
  ScenarioData out;
  out.where = value.where;
  out.source = table.required_one_of("source", {"mnist", "idx", "generated"});
  read_partition(table, out);
  out.samples = read_per_datacenter(table, "samples", 1, kMostSamples);
  if (out.source == "generated") {
    read_generated(table, phantom, out);
  } else if (!out.source.empty()) {
    out.path = resolve_path(table.required_string("path"), table.where("path"));
  }
  if (!out.source.empty()) table.finish();  // which keys are known depends on the source
  return out;
}

ScenarioTrain read_train(const Value& value, const std::string& path, Diagnostics& diagnostics) {
  TableReader table(value, path, diagnostics);
  ScenarioTrain out;
  out.where = value.where;
  for (const auto key : {"batch_per_rank", "optimizer", "stop"}) {
    if (!table.has(key) && value.table() != nullptr) table.error(key, "is required");
  }
  out.batch_per_rank = read_per_datacenter(table, "batch_per_rank", 1, kLargestBatch).value_or(PerDatacenter{value.where, path, 1, {}});
  if (const auto* optimizer = table.table("optimizer")) out.optimizer = *optimizer;
  out.optimizer_path = table.path_of("optimizer");
  if (const auto* stop = table.table("stop")) out.stop = read_stop(*stop, table.path_of("stop"), diagnostics);
  out.eval_every = table.optional_integer("eval_every", 1, kMostSteps);
  if (const auto* target = table.table("target")) out.target = read_target(*target, table.path_of("target"), diagnostics);
  out.bucket_bytes = table.bytes("bucket");
  out.accumulation_steps = table.integer("accumulation_steps", 1, kMostMicroBatches, 1);
  if (out.bucket_bytes && *out.bucket_bytes < kSmallestBucket)
    table.error("bucket", "must be at least 1 KiB: one block of 256 fp32 elements");
  table.finish();
  return out;
}

ScenarioExpect read_expect(const Value& value, const std::string& path, Diagnostics& diagnostics) {
  TableReader table(value, path, diagnostics);
  ScenarioExpect out;
  out.accuracy_at_least = table.optional_number("accuracy_at_least", 0, 1);
  out.loss_at_most = table.optional_number("loss_at_most", 0, 1e30);
  out.updates_lost = table.optional_integer("updates_lost", 0, kMostSteps);
  table.finish();
  return out;
}

ScenarioCheckpoint read_checkpoint(const Value& value, const std::string& path, Diagnostics& diagnostics) {
  TableReader table(value, path, diagnostics);
  ScenarioCheckpoint out;
  out.where = value.where;
  out.every = table.optional_integer("every", 1, kMostSteps);
  out.keep = table.integer("keep", 1, kMostCheckpoints, out.keep);
  if (table.has("best")) out.best = table.required_one_of("best", {"accuracy", "loss"});
  table.finish();
  return out;
}

ScenarioPolicy read_policy(const Value& value, const std::string& path, Diagnostics& diagnostics) {
  ScenarioPolicy out;
  if (const auto* kind = value.string()) {
    const Value wrapped{value.where, ValueTable{{"kind", value}}};
    Diagnostics found;
    TableReader reader(wrapped, path, found);
    out.kind = reader.one_of("kind", policies(), "stop");
    for (const auto& error : found.errors()) diagnostics.error(error.where, path, error.message);
    if (*kind == "stall") diagnostics.error(value.where, path, "needs its bound: { kind = \"stall\", max_stall = \"120 s\" }");
    out.where = value.where;
    return out;
  }
  TableReader table(value, path, diagnostics);
  out.where = value.where;
  out.kind = table.required_one_of("kind", policies());
  if (out.kind == "stall") {
    if (!table.has("max_stall")) table.error("max_stall", "is required, as in \"120 s\"");
    out.max_stall = table.duration("max_stall");
  }
  if (out.kind.empty()) {
    out.kind = "stop";
  } else {
    table.finish();
  }
  return out;
}

ScenarioFault read_fault(const Value& value, const std::string& path, Diagnostics& diagnostics) {
  TableReader table(value, path, diagnostics);
  ScenarioFault out;
  out.where = value.where;
  out.path = path;
  out.kind = table.required_string("kind");
  if (!table.has("at")) table.error("at", "is required, as in \"40 s\"");
  out.at = table.duration("at").value_or(Duration{});
  out.lasts = table.duration("for");
  if (out.lasts && out.lasts->ns <= 0) table.error("for", "must be more than 0");
  out.datacenter = table.string("datacenter", "");
  const auto before = diagnostics.errors().size();
  out.link = table.strings("link");
  if (table.has("link") && out.link.size() != 2 && diagnostics.errors().size() == before) {
    table.error("link", "two datacenters are wanted, as in [\"beijing\", \"guangzhou\"]");
  }
  if (table.has("link") == table.has("datacenter")) {
    diagnostics.error(value.where, path, "a fault names either a link or a datacenter");
  }
  table.finish();
  return out;
}

}  // namespace xdc
