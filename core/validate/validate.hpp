// Can this scenario be run? Every variant is checked against topology, data and registries, and becomes a RunSpec: afterwards
// nothing can be wrong any more but the world.
#pragma once

#include <vector>

#include "core/config/scenario.hpp"
#include "core/validate/run_spec.hpp"

namespace xdc {

// One RunSpec a variant, in the order of the file. Reads the topology, opens the data. All errors of all files are in
// `diagnostics`; then what is returned must not be run.
std::vector<RunSpec> validate(const Scenario& scenario, Diagnostics& diagnostics);

}  // namespace xdc
