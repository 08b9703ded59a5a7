// What does xdc-run compute with, and why that?
#pragma once

#include <string>

#include "core/base/result.hpp"
#include "core/validate/run_spec.hpp"

namespace xdc {

// A rehearsal computes nothing (payload = "phantom").
bool is_rehearsal(const RunSpec& spec);

// `device` is what --device said, empty: nothing. Says which device is used, and why that one. Errors: unsupported.
Result<std::string> choose_device(const std::string& device, const RunSpec& spec);

// No device of this machine matters to a rehearsal. Errors: invalid, where one was asked for.
Result<std::string> describe_rehearsal(const std::string& device, bool without_waiting, const RunSpec& spec);

}  // namespace xdc
