// What is to be trained, in which variants? The scenario file, parsed. Whatever needs a registry (strategies, codecs, models,
// optimizers) or the topology (datacenter names) stays a Value here and is read in core/validate.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/time.hpp"
#include "core/config/diagnostics.hpp"
#include "core/config/value.hpp"

namespace xdc {

// One figure for every datacenter, or one for each by name. The names are checked in core/validate.
struct PerDatacenter {
  SourceLocation where;
  std::string path;             // of the key: "train.batch_per_rank"
  std::optional<int64_t> each;  // set: `by_name` is empty
  struct Named {
    SourceLocation where;
    int64_t value = 0;
  };
  std::map<std::string, Named, std::less<>> by_name;
};

struct ScenarioData {
  SourceLocation where;
  std::string source;  // "mnist" (four IDX files of MNIST's names in `path`), "idx" (the same for a data set of one's own), "generated"
  std::string path;    // as the program opens it: relative to the file that names it; to the working directory for --set
  std::string partition = "uniform";            // "uniform" | "dirichlet"
  double alpha = 0;                             // dirichlet: > 0
  std::optional<PerDatacenter> samples;         // absent: all there are, dealt evenly over the ranks
  int64_t train_samples = 0, test_samples = 0;  // generated; of a phantom run counts alone
  int height = 28, width = 28, channels = 1, classes = 10;
};

// Exactly one is set.
struct ScenarioStop {
  std::optional<int64_t> steps, samples, epochs;
  std::optional<Duration> time;
};

struct ScenarioTarget {
  std::string metric;  // "accuracy" | "loss"
  double value = 0;    // accuracy: at least; loss: at most
};

struct ScenarioTrain {
  SourceLocation where;
  PerDatacenter batch_per_rank;
  std::optional<Value> optimizer;  // a table, read by read_optimizer; absent only after an error
  std::string optimizer_path;
  ScenarioStop stop;
  std::optional<int64_t> eval_every;
  std::optional<ScenarioTarget> target;
  std::optional<int64_t> bucket_bytes;
  int64_t accumulation_steps = 1;  // micro-batches of batch_per_rank in one step
};

struct ScenarioExpect {
  std::optional<double> accuracy_at_least;
  std::optional<double> loss_at_most;
  std::optional<int64_t> updates_lost;
};

struct ScenarioCheckpoint {
  SourceLocation where;
  std::optional<int64_t> every;  // steps
  int64_t keep = 3;
  std::string best;  // "accuracy" | "loss"; empty: none
};

struct ScenarioPolicy {
  SourceLocation where;
  std::string kind = "stop";  // "stop" | "stall" | "degrade"
  std::optional<Duration> max_stall;
};

struct ScenarioFault {
  SourceLocation where;
  std::string path;  // "fault[0]"
  std::string kind;
  Duration at;
  std::optional<Duration> lasts;  // `for`; absent: to the end
  std::vector<std::string> link;  // two datacenters, or empty
  std::string datacenter;         // or empty; one of the two is given
};

// One variant with everything that it inherits.
struct ScenarioVariant {
  std::string name;
  SourceLocation where;
  int index = -1;  // in the file's [[variant]] list; -1: the scenario has none and is its own only variant
  Value root;      // the scenario's keys (without variant, fault) with the variant's merged over them and --set over both
  ScenarioTrain train;
  ScenarioExpect expect;
  ScenarioPolicy policy;
  bool commit_by_vote = false;

  // Of the merged tree; nullptr: not there. `strategy` and `model` of a scenario without errors are there and are tables.
  const Value* find(std::string_view key) const;
  // What to hand to TableReader as the path: "variant[2].strategy" where the variant itself writes it, else "strategy".
  std::string path_of(std::string_view key) const;
  std::vector<std::string> own_keys;
};

struct Scenario {
  std::string path;
  Value root;                 // as written, with --set applied: variants not merged
  std::string topology_path;  // as the program opens it
  SourceLocation topology_where;
  uint64_t seed = 0;
  bool phantom = false;          // payload = "phantom"
  bool native_numerics = false;  // numerics = "native"
  ScenarioData data;
  std::optional<ScenarioCheckpoint> checkpoint;
  std::vector<ScenarioVariant> variants;  // at least one, order of the file
  std::vector<ScenarioFault> faults;
  std::string canonical;  // every variant as it is run, seed and faults: what the digest is taken of, also when variants are left out
};

// Reads the file and applies `sets`, each "a.b=c" (the part after = is a TOML value, or else a text). A key that variants may
// override is set in every variant; "variant[0].x=..." and "variant.NAME.x=..." reach one. Every error that can be found without a
// registry is in `diagnostics`; what is returned is meant to be used when there is none, but is safe to read in any case, so
// that errors of the topology and of the registries can be reported along. nullopt: there is no tree at all.
std::optional<Scenario> read_scenario(const std::string& path, const std::vector<std::string>& sets, Diagnostics& diagnostics);

// The digest that a report carries: of scenario (after --set), topology and seed; not of paths, comments or layout.
std::string scenario_digest(const Scenario& scenario, std::string_view topology_canonical);

}  // namespace xdc
