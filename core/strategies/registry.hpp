// Which strategies are there? The one place that knows all their names.
#pragma once

#include <string>
#include <vector>

#include "core/config/table_reader.hpp"
#include "core/config/topology.hpp"
#include "core/membership/folding.hpp"
#include "core/report/run_report.hpp"
#include "core/strategies/strategy.hpp"

namespace xdc {

// What a member keeps in device memory, in planned elements.
struct Holdings {
  int64_t parameters = 0;      // in each set of its state
  bool optimizer = true;       // and the optimizer's state of them
  int64_t inbox_elements = 0;  // of what others send it at a time, at least
  int sets = 0;                // of state; 0: as many as the way of committing wants
};

struct StrategyKind {
  std::string name;
  // Reads the keys of `strategy = { kind = NAME, ... }`; names of datacenters are looked up.
  StrategySpec (*read)(TableReader& table, const Topology& topology);
  // Adds the members it needs beside the workers.
  void (*add_members)(const StrategySpec& spec, const Topology& topology, Cluster& cluster);
  // Decides what the user left open (lanes, exchange), and refuses codecs that cannot be. Called once, in validate. Errors: invalid, saying
  // what cannot be.
  Status (*resolve)(StrategyPlan& plan, const Topology& topology);
  // As a report shows it: kind first, then every choice, also those that were decided here.
  Description (*describe)(const StrategyPlan& plan);
  // Payload bytes of one round between datacenters, exactly.
  PairBytes (*payload_per_round)(const StrategyPlan& plan);
  // What a worker encodes with error feedback, and so keeps residuals of.
  ResidualPlan (*residuals)(const StrategyPlan& plan, MemberId self);
  // What a member holds. nullptr: every worker all parameters and their optimizer's state, and there are no servers.
  Holdings (*holdings)(const StrategyPlan& plan, MemberId self) = nullptr;
  // What tells a worker from the others of its datacenter in a phantom run. nullopt: no two are alike.
  std::optional<Likeness> (*likeness)(const StrategyPlan& plan, MemberId worker);
  std::unique_ptr<WorkerStrategy> (*make_worker)(const StrategyPlan& plan, Env& env, MemberId self);
  // nullptr where the strategy has no servers.
  std::unique_ptr<ServerStrategy> (*make_server)(const StrategyPlan& plan, const Optimizer& optimizer, Env& env, MemberId self);
  // Where plan.pushes_freely(); nullptr where the strategy never does.
  std::unique_ptr<PushServer> (*make_push_server)(const StrategyPlan& plan, const Optimizer& optimizer, Env& env, MemberId self);
  // Where plan.pushes_freely(): payload bytes of one push of one worker of this datacenter and of the answer to it, exactly.
  PairBytes (*payload_per_push)(const StrategyPlan& plan, int datacenter);
};

const std::vector<StrategyKind>& strategy_kinds();
std::vector<std::string> strategy_names();
// nullptr: no such kind.
const StrategyKind* find_strategy(const std::string& name);
const StrategyKind& strategy_of(const StrategySpec& spec);

// Reads a whole strategy table, `kind` first. nullptr after an error.
const StrategyKind* read_strategy(const Value& value, const std::string& path, const Topology& topology, Diagnostics& diagnostics,
                                  StrategySpec& spec);

}  // namespace xdc
