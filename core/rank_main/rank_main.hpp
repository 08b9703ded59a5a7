// What is the whole life of one rank? The same function in both worlds.
#pragma once

#include "core/seam/env.hpp"
#include "core/validate/run_spec.hpp"

namespace xdc {

// Where a member leaves its MemberReport (JSON), also after a failure: "report/3".
std::string report_key(MemberId member);

// Connects, trains or serves to the end, evaluates if it is the first rank, holds the last vote and puts its report into the
// store. Errors say which datacenter, rank and round, and what was waited for; every member of the run hears of a failure,
// because the failing one breaks its channels. `env` and `spec` outlive the call.
Status rank_main(Env& env, const RunSpec& spec, MemberId self);

}  // namespace xdc
