// What does a worker do that waits for no other, or for the slowest only so far? Until its share of the run's samples is used up:
// compute, push, go on with what its servers answer. At the end all have the same parameters.
#pragma once

#include "core/report/report.hpp"
#include "core/seam/env.hpp"
#include "core/validate/run_spec.hpp"

namespace xdc {

// Requires spec.plan.pushes_freely(). Errors name what was waited for.
Status run_free_worker(Env& env, const RunSpec& spec, MemberId self, MemberReport& report);

}  // namespace xdc
