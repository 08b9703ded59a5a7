// What do the built-in cost profiles say, word for word? The files of core/model/profiles as the build found them.
#pragma once

#include <span>
#include <string_view>

namespace xdc {

struct EmbeddedProfile {
  std::string_view name;  // the file's, without .toml
  std::string_view text;
};

// Ascending by name.
std::span<const EmbeddedProfile> embedded_profiles();

}  // namespace xdc
