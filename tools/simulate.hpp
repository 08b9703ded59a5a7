// How is one variant simulated? In this process, which can do it once.
#pragma once

#include <functional>
#include <vector>

#include "core/report/report.hpp"
#include "core/validate/run_spec.hpp"
#include "sim/trace.hpp"

namespace xdc {

// Who watches; each may be empty.
struct Onlookers {
  std::function<void(double)> progress;  // how much of the run is done, 0 to 1, as steps end
  Observer event = {};
  Watch watch = {};
};

// Unless told to `expand`, one rank may act for those that nothing tells apart from it (core/rank_main/folding_of.hpp).
// The account of every member that acted, by member id.
// Errors: failed, when the simulation is stuck or the processor's arithmetic cannot be set up; a member's own failure is in its
// account.
Result<std::vector<MemberReport>> simulate(const RunSpec& spec, const Onlookers& onlookers, bool expand = false);

}  // namespace xdc
