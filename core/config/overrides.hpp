// How does --set a.b=c change what the file says?
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/diagnostics.hpp"
#include "core/config/value.hpp"

namespace xdc {

// One step into the tree: a key, or a place in an array.
struct PathStep {
  std::string key;
  std::optional<size_t> index;  // set: an array's element, and `key` is empty
};

struct Override {
  std::vector<PathStep> path;  // at least one step, the first a key
  Value value;                 // its places are "--set a.b=c"
  std::string text;            // the path as written, for messages
};

// "a.b[2].\"a name\"=value"; the value is read as TOML, else taken as a text. nullopt: an error was reported.
std::optional<Override> parse_override(std::string_view text, Diagnostics& diagnostics);

// Sets root's value at path[first..]; tables that are not there are made, elements of arrays are not.
void apply_override(Value& root, const Override& change, size_t first, Diagnostics& diagnostics);

}  // namespace xdc
