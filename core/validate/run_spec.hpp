// What exactly is to be run? One variant of a scenario after every check: nothing in it can be wrong any more, nothing is
// looked up by name any more, and both programs start ranks from the same value.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/time.hpp"
#include "core/config/topology.hpp"
#include "core/data/dataset.hpp"
#include "core/data/sample_schedule.hpp"
#include "core/data/spec.hpp"
#include "core/model/charged_layers.hpp"
#include "core/optim/spec.hpp"
#include "core/seam/kernels.hpp"
#include "core/strategies/strategy.hpp"

namespace xdc {

enum class PayloadKind { real, phantom };
enum class Numerics { portable, native };

// Exactly one is set.
struct StopSpec {
  std::optional<int64_t> steps, samples, epochs;
  std::optional<Duration> time;
};

struct TargetSpec {
  std::string metric;  // "accuracy" | "loss"
  double value = 0;    // accuracy: at least; loss: at most
};

struct ExpectSpec {
  std::optional<double> accuracy_at_least;
  std::optional<double> loss_at_most;
  std::optional<int64_t> updates_lost;
};

struct TrainSpec {
  std::vector<int> batch_per_datacenter;  // samples per rank and micro-batch, topology order
  int accumulation_steps = 1;             // micro-batches in a step
  OptimizerSpec optimizer;
  StopSpec stop;
  std::optional<int64_t> eval_every;  // steps; always evaluated at the end
  std::optional<TargetSpec> target;
  std::optional<int64_t> bucket_bytes;  // default: 25 MB or 1/16 of the model, whichever is larger
};

// The scenario's [checkpoint].
struct CheckpointSpec {
  std::optional<int64_t> every;  // steps; always at the end as well
  int64_t keep = 3;              // the newest so many
  std::string best;              // "accuracy" | "loss": the best by it is kept as well; empty: none
};

// Where a run begins: after so many steps that an earlier process has made.
struct StartPoint {
  int64_t step = 0;
  Duration elapsed;
  std::optional<SampleSchedule::Deals> deals;  // of an earlier process's samples, and of this run's; nullopt: dealt as a whole
};

struct RunSpec {
  std::string scenario_path;
  std::string scenario_digest;  // scenario, topology and seed
  std::string variant;
  uint64_t seed = 0;
  PayloadKind payload = PayloadKind::real;
  Numerics numerics = Numerics::portable;

  Topology topology;
  std::vector<DeviceSpec> devices;         // per datacenter, looked up
  std::vector<DeviceSpec> server_devices;  // likewise
  // What is trained; without layers in a phantom run with a cost profile, which needs nothing of it.
  NetworkSpec network;
  std::string model_name;  // empty: none was named
  // Whose time and bytes are charged, in place of the network's; null: its own.
  std::shared_ptr<const CostProfile> profile;
  DataSpec data;
  // Opened once for all ranks of a process; null in a phantom run, which needs counts alone.
  std::shared_ptr<const Dataset> dataset;
  // The samples of each datacenter, topology order; null likewise.
  std::shared_ptr<const std::vector<std::vector<int32_t>>> partition;
  TrainSpec train;
  StrategyPlan plan;  // strategy, codecs, buckets, and the cluster: who takes part and where each stands
  bool commit_by_vote = false;
  ExpectSpec expect;

  std::optional<CheckpointSpec> checkpoint;  // nullopt: the scenario has no such table
  // Decided by whoever starts the run: whether checkpoints are written at all, and whether it goes on from the newest.
  bool keeps_checkpoints = false, resumes = false;
  StartPoint start;
  std::string program_version;  // for the manifests
  // What decides what is trained, as text: a checkpoint continues only a run that agrees in it.
  std::vector<std::pair<std::string, std::string>> settings;

  // How long a member may wait, derived from topology and model, or set; absolute deadlines are made of it.
  Duration start_timeout, round_timeout;

  const Cluster& cluster() const { return plan.cluster; }
  // Of a member's state (core/strategies/round.hpp).
  int state_sets() const { return commit_by_vote ? 2 : 3; }
  ChargedLayers charged() const { return {network, profile.get()}; }
  // Among whom a whole epoch is dealt.
  std::vector<SampleSchedule::Datacenter> dealt() const;
  // Which rank takes how many samples at which step, from the start point on. A worker's rank there is its member id.
  SampleSchedule schedule() const;
};

}  // namespace xdc
