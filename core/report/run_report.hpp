// What came of a scenario? The variants' accounts, as they stand in the JSON (schema 1) and in the table. What each figure means is
// in this room's README.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace xdc {

// A table of plain values in the order in which they are shown: {"kind", "ring_allreduce"}, {"order", "interleaved"}.
using Description = std::vector<std::pair<std::string, std::variant<std::string, int64_t, double, bool>>>;

struct LinkReport {
  std::string from, to;  // datacenters at the ends of one line, in one direction
  int64_t bytes = 0;     // everything, over the whole run
  int64_t payload_bytes = 0;
  int64_t rounds = 0;  // rounds that moved bytes
  int64_t steps_per_round = 1;
  int64_t closed_form_bytes = 0;           // of payload_bytes
  double closed_form_bytes_of_a_step = 0;  // without what moved for a step that was not applied
  // Of the topology's line, where the world holds its messages to it; nullopt: it does not.
  struct Line {
    double rate = 0;  // bytes per second
    double latency_s = 0;
    // Between these the routes stay as they are.
    double least_latency_s = 0, most_latency_s = 0;
  };
  std::optional<Line> line = {};
  double utilisation = 0;  // bytes over rate and time; 0 without a line

  double payload_bytes_per_step() const {
    return rounds == 0 ? 0 : static_cast<double>(payload_bytes) / static_cast<double>(rounds * steps_per_round);
  }
  double closed_form_bytes_per_step() const {
    return rounds == 0 ? 0 : static_cast<double>(closed_form_bytes) / static_cast<double>(rounds * steps_per_round);
  }
};

// One way through a round on which every message waits for the one before it: what a step's time is made of
// (core/report/step_model.hpp).
struct Chain {
  struct Leg {
    std::vector<size_t> route;  // lines, index into VariantReport::links
    double crossings = 1;       // how often a step waits for the latency of all of them
    double share = 1;           // the part of the bytes on them in a step that is on this way
  };
  double compute = 1;  // the part of a step's computation that is on this way
  std::vector<Leg> legs;
};

// What must hold of every run: bytes are the closed form's, and no step is shorter than its computation or than the slowest line
// needs for its closed form.
struct BoundReport {
  double step_s = 0;
  std::string by;                     // "computation of shanghai rank 2", "beijing to guangzhou"; empty: there is none
  std::vector<std::string> violated;  // messages; not empty: the run failed
};

struct CostReport {
  std::optional<double> devices, egress, total;  // nullopt: not priced
  std::optional<double> to_target;               // of the total; nullopt: not priced, or not reached
};

struct FaultReport {
  int64_t rounds_committed = 0, rounds_rolled_back = 0;
  int64_t updates_lost = 0;
  int64_t samples_lost = 0, samples_repeated = 0, samples_deferred = 0;
  double stall_s = 0;
};

struct SeriesReport {
  std::vector<int64_t> step;
  std::vector<double> time_s;
  std::vector<std::optional<double>> loss;      // of training, the weighted mean over all ranks
  std::vector<std::optional<double>> accuracy;  // where the step was evaluated
};

// The held-out set, scored between steps.
struct EvaluationReport {
  int64_t step = 0;
  double time_s = 0;
  double loss = 0, accuracy = 0;
};

// Of updates that are applied one by one; all servers' together.
struct StalenessReport {
  std::vector<int64_t> histogram;  // [s]: so many updates had s others between their read and their application; empty: there are none
  std::vector<std::vector<int64_t>> applied;  // by server: whose push each of its updates was, in order

  double mean() const;
  // Nearest rank: the least s that at least `part` of all updates do not exceed.
  int64_t percentile(double part) const;
  int64_t most() const { return static_cast<int64_t>(histogram.size()) - 1; }
};

// One line of [expect].
struct Expectation {
  std::string key;  // "accuracy_at_least"
  double bound = 0;
  std::optional<double> value;
  std::optional<bool> met;  // nullopt: not checked, because a phantom run has no such value
};

struct VariantReport {
  std::string name;
  std::string error;  // not empty: it did not finish, and nothing below but the description is known
  Description strategy;
  Description lan_codec, wan_codec;
  int buckets = 0;  // of a gradient
  int ranks = 0;    // workers
  int servers = 0;
  int actors = 0;  // members that were simulated; each stands for itself and those that nothing tells apart from it
  int64_t steps = 0;
  int64_t samples = 0;  // of all ranks, in all steps
  double elapsed_s = 0;
  double step_mean_s = 0, step_p50_s = 0, step_p95_s = 0;
  double compute_s = 0;
  double exposed_communication_s = 0;
  double device_utilisation = 0;
  double samples_per_s = 0;
  std::vector<LinkReport> links;
  std::vector<Chain> chains;  // empty: no formula is known, or its lines are not
  BoundReport bound;
  std::optional<double> loss, accuracy;  // of the held-out set, at the end
  std::optional<double> time_to_target_s;
  std::optional<int64_t> steps_to_target;
  CostReport cost;
  FaultReport faults;
  std::string parameters_digest;  // empty: phantom
  SeriesReport series;
  std::vector<EvaluationReport> evaluations;
  StalenessReport staleness;
  std::vector<Expectation> expectations;
  std::optional<int64_t> resumed_at;  // the step that this run went on from: steps, times and bytes are those made since
  bool stopped = false;               // ended in good order because it was asked to
  int64_t checkpoints_written = 0, checkpoints_failed = 0;
  std::vector<std::string> warnings;
  double wall_s = 0;

  // Payload over all lines, per step.
  double wan_bytes_per_step() const;
  // The line with the largest utilisation; nullptr where no line is known.
  const LinkReport* busiest_line() const;
  // None failed.
  bool expectations_met() const;
};

struct TargetReport {
  std::string metric;
  double value = 0;
};

struct RunReport {
  std::string program, version;
  std::string scenario;  // the path, as given
  std::string scenario_digest;
  uint64_t seed = 0;
  std::string payload, numerics, model, data;
  std::string cost_profile;          // whose time and bytes are charged; empty: the model's own
  bool cost_profile_charged = true;  // false: a world that sends the model's own bytes and takes its own time
  // A rehearsal: bytes really travel, and arithmetic is waited for as modelled (true) or left out (false). nullopt: none.
  std::optional<bool> rehearsal_waits;
  std::vector<std::string> datacenters;
  std::optional<TargetReport> target;  // nullopt: none, or the variants have different ones
  std::string simulator;               // "simgrid", or empty
  std::string simulator_version;
  std::vector<std::pair<std::string, std::string>> simulator_options;
  std::vector<VariantReport> variants;
};

// Schema 1, two spaces of indentation, stable order of keys, numbers in their shortest form, a newline at the end.
std::string to_json(const RunReport& report);

}  // namespace xdc
