// What do command line and environment say about where a run takes place? The options of setting_names, for CLI11.
#pragma once

#include <CLI/CLI.hpp>

#include "core/validate/run_spec.hpp"
#include "exec/launcher/placement.hpp"

namespace xdc {

// Adds an option for each setting; what is given lands in `options`, which outlives the app's parsing.
void declare_settings(CLI::App& app, Variables& options);

// Those variables of this process that read_environment knows or refuses.
Variables relevant_variables();

// For --emulate-wan: everyone is here, at the addresses of EmulatedWan. Errors: invalid, names a setting that says otherwise.
Status place_in_emulated_networks(Request& request, const Topology& topology);

// Two tables where variants are known: what was understood, and who is started where. Errors: invalid.
Result<std::string> explain_surroundings(const Request& request, const std::vector<RunSpec>& specs);

}  // namespace xdc
