// What does a server do that applies pushes one by one? Apply the next one, answer whoever may go on, and show the evaluating rank the
// parameters now and then.
#pragma once

#include "core/report/report.hpp"
#include "core/seam/env.hpp"
#include "core/validate/run_spec.hpp"

namespace xdc {

// Requires spec.plan.pushes_freely(). Errors name what was waited for.
Status run_push_server(Env& env, const RunSpec& spec, MemberId self, MemberReport& report);

}  // namespace xdc
