// What of a run must a checkpoint agree in, and which runs can be saved at all?
#pragma once

#include "core/config/scenario.hpp"
#include "core/validate/run_spec.hpp"

namespace xdc {

// What a checkpoint must agree in with the run that goes on from it. Not here: the numbers of the topology (ranks may be others), how the
// batch is cut, and what only stops, watches or judges a run.
void note_settings(const Scenario& scenario, const ScenarioVariant& variant, RunSpec& spec);

// Of a scenario with a [checkpoint].
void check_checkpoint(const Scenario& scenario, const ScenarioVariant& variant, const RunSpec& spec, Diagnostics& diagnostics);

}  // namespace xdc
