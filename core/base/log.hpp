// Where does a message for a person go? One line to stderr, whole, whatever else is being written.
#pragma once

#include <string_view>

namespace xdc {

enum class LogLevel { error, warning, info, debug };

// Set both before other lanes start: they are read without a lock. The default level is info.
void set_log_level(LogLevel level);
// Prefixed to each line, e.g. "beijing/3"; empty by default.
void set_log_prefix(std::string_view prefix);
void log(LogLevel level, std::string_view message);

}  // namespace xdc
