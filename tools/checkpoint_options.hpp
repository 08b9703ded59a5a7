// What do --checkpoint, --resume and --evaluate mean? Each variant has a directory of its own below the one that is given.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/validate/run_spec.hpp"

namespace xdc {

// DIR/hierarchical-int8: the variant's name, with what a file's name should not have replaced by '-'.
std::string checkpoint_directory(const std::string& directory, const RunSpec& spec);

// Before a run: there is something to go on from, or nothing that would be mixed up with a new run; no two variants share a directory; they
// can be saved at all. What lies in the directory is looked at where the first rank is started: manifests are its own. Errors: invalid.
Status check_checkpoint_options(const std::string& directory, bool resume, const std::vector<RunSpec>& specs, bool first_is_here);

// What --evaluate prints. `path`: a variant's directory, or one step's in it. Errors: invalid.
Result<std::string> evaluate_checkpoint(const RunSpec& spec, const std::string& path);

}  // namespace xdc
