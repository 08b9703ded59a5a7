// What does a TOML text say? The only user of toml++: text to a tree of values with their places.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/config/diagnostics.hpp"
#include "core/config/value.hpp"

namespace xdc {

// Reads a whole file. nullopt: it cannot be read (missing, a directory, no permission, over 16 MB, not UTF-8 text) or is no
// TOML; the reason is in `diagnostics`. A byte-order mark, CRLF and a missing last newline are fine.
std::optional<Value> read_toml_file(const std::string& path, Diagnostics& diagnostics);

// The same from memory; `name` stands for the file in places and messages.
std::optional<Value> parse_toml(std::string_view text, const std::string& name, Diagnostics& diagnostics);

// The file's bytes under the same rules.
std::optional<std::string> read_text_file(const std::string& path, Diagnostics& diagnostics);

}  // namespace xdc
