// Is this one machine fit for its part of a run? A list that people read, with what to do.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/validate/run_spec.hpp"
#include "exec/launcher/placement.hpp"

namespace xdc {

struct Finding {
  enum class Level { ok, warning, error };
  Level level = Level::ok;
  std::string what;    // "port 6170"
  std::string found;   // "taken by process 4711 (nginx)"
  std::string advice;  // what to do; empty where nothing is to be done
};

// What this machine is, whatever is run: processor, instructions, libraries, the certificates in `tls_directory` of this launcher if any.
// `cuda` is what was found of it, or why there is none: an error only where a run needs it.
std::vector<Finding> examine_machine(const Result<std::string>& cuda, bool needs_cuda);

// What a run needs of it: its ports free, certificates of its members, peers that answer, the store and its keeper's clock, room and
// fsync where checkpoints go (`checkpoint_directory`, or the nearest folder above it that exists; empty: none are written). Takes a few
// seconds at most.
std::vector<Finding> examine_run(const RunSpec& spec, const Placement& placement, const std::string& checkpoint_directory);

// "ok       port 6170: free", and on a line of its own what to do.
std::string describe(const std::vector<Finding>& findings);
bool is_fit(const std::vector<Finding>& findings);  // no error

}  // namespace xdc
