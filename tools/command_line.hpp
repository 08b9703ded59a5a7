// What is refused on a command line that CLI11 would take? For all programs, so that nothing that was asked for is left out in silence.
#pragma once

#include <CLI/CLI.hpp>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.hpp"

namespace xdc {

// These options may not be given an empty value: --json "$REPORT" with REPORT unset would write none, and say nothing.
void refuse_empty_values(CLI::App& app, std::initializer_list<const char*> options);

// What CLI::NonNegativeNumber lets through: fractions, and what CLI11 would cut to the largest number that there is.
CLI::Validator whole_number();

// Of options and the files they name; an empty one was not given, "-" is stdout. All but --json want a file, since stdout is for the table,
// and no two name the same one: the last to be written would be all that is left. Errors: invalid.
Status check_output_paths(const std::vector<std::pair<std::string, std::string>>& outputs);

}  // namespace xdc
