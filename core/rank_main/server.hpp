// What does a parameter server do from its first round to its last?
#pragma once

#include "core/rank_main/checkpoints.hpp"
#include "core/report/report.hpp"
#include "core/seam/env.hpp"
#include "core/validate/run_spec.hpp"

namespace xdc {

// `checkpoints`: nullptr where nothing is saved.
Status run_server(Env& env, const RunSpec& spec, MemberId self, MemberReport& report, Checkpoints* checkpoints);

}  // namespace xdc
