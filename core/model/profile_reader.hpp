// How does the tree of a profile's file become its layers? Repeated groups are written out, and every error is collected.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/config/diagnostics.hpp"
#include "core/config/value.hpp"
#include "core/model/profile.hpp"

namespace xdc {

// nullopt: there was an error. A profile may not carry one of the `taken` names: its figures would pass for another's.
std::optional<CostProfile> read_profile(const Value& tree, const std::vector<std::string>& taken, Diagnostics& diagnostics);

}  // namespace xdc
