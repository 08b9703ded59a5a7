// Do all machines compute the same? What each of them is, in facts that are compared before a run starts.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.hpp"
#include "core/validate/run_spec.hpp"

namespace xdc {

// In the order of tables: {"version", "0.1.0"}, {"processor", "AMD EPYC 7763"}.
using Fingerprint = std::vector<std::pair<std::string, std::string>>;

// Of this machine and this run. `version` and `build` are the program's, `waits`: computations are waited for in a rehearsal. Pins this
// process's numerics as its ranks will be.
Result<Fingerprint> take_fingerprint(const RunSpec& spec, const std::string& version, const std::string& build, bool waits);

// A fact that may differ, and why it may or may not.
struct FactRule {
  std::string key;
  bool may_differ = false;  // when --allow-mismatch says so
  std::string why;
};
const std::vector<FactRule>& fact_rules();
// Errors: invalid, for a key that is none, and for one that can change results, with why.
Status check_allowed(const std::vector<std::string>& allowed);

// Who has which fingerprint: "beijing ranks 0-3" -> ... Those that are allowed to differ are left out.
// Empty: all agree. Otherwise a table of the facts that differ, one line for each value and who has it.
std::string differences(const std::vector<std::pair<std::string, Fingerprint>>& all, const std::vector<std::string>& allowed);

// "model name" of /proc/cpuinfo.
std::string processor_model();

}  // namespace xdc
