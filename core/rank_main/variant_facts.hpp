// What does the account of a variant need beside its members' accounts?
#pragma once

#include "core/report/assemble.hpp"
#include "core/validate/run_spec.hpp"

namespace xdc {

VariantFacts facts_of(const RunSpec& spec);

}  // namespace xdc
