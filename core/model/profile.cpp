// Finds a profile by name or path, and adds one up.
#include "core/model/profile.hpp"

#include <fmt/format.h>

#include "core/config/toml_reader.hpp"
#include "core/model/profile_embedded.hpp"
#include "core/model/profile_reader.hpp"

namespace xdc {
namespace {

constexpr double kBytesPerValue = 4;

template <class Figure>
auto sum(const std::vector<ProfileLayer>& layers, Figure ProfileLayer::*figure) {
  Figure total = 0;
  for (const auto& layer : layers) total += layer.*figure;
  return total;
}

std::vector<std::string> builtin_names() {
  std::vector<std::string> names;
  for (const auto& profile : embedded_profiles()) names.emplace_back(profile.name);
  return names;
}

std::vector<CostProfile> read_builtin() {
  std::vector<CostProfile> profiles;
  for (const auto& embedded : embedded_profiles()) {
    Diagnostics diagnostics;
    const auto tree = parse_toml(embedded.text, fmt::format("core/model/profiles/{}.toml", embedded.name), diagnostics);
    auto profile = tree ? read_profile(*tree, {}, diagnostics) : std::nullopt;
    XDC_CHECK_MSG(diagnostics.ok() && profile, diagnostics.text());
    XDC_CHECK_MSG(profile->name == embedded.name, fmt::format("the profile in {}.toml is called {}", embedded.name, profile->name));
    profiles.push_back(std::move(*profile));
  }
  return profiles;
}

}  // namespace

int64_t CostProfile::parameters() const { return sum(layers, &ProfileLayer::parameters); }
double CostProfile::forward_flops() const { return sum(layers, &ProfileLayer::forward_flops); }
double CostProfile::backward_flops() const { return sum(layers, &ProfileLayer::backward_flops); }
double CostProfile::kept_values() const { return sum(layers, &ProfileLayer::kept_values); }

Cost forward_cost(const ProfileLayer& layer, int batch) {
  return {batch * layer.forward_flops, kBytesPerValue * (batch * layer.forward_values + static_cast<double>(layer.parameters))};
}

Cost backward_cost(const ProfileLayer& layer, int batch) {
  return {batch * layer.backward_flops, kBytesPerValue * (batch * layer.backward_values + 2.0 * static_cast<double>(layer.parameters))};
}

const std::vector<CostProfile>& builtin_profiles() {
  static const std::vector<CostProfile> profiles = read_builtin();
  return profiles;
}

std::optional<CostProfile> parse_profile(std::string_view text, const std::string& file, Diagnostics& diagnostics) {
  const auto tree = parse_toml(text, file, diagnostics);
  return tree ? read_profile(*tree, builtin_names(), diagnostics) : std::nullopt;
}

Result<CostProfile> find_profile(const std::string& name_or_path, Diagnostics& diagnostics, const SourceLocation& named_at,
                                 const std::string& key) {
  if (name_or_path.ends_with(".toml")) {
    Diagnostics reading;
    const auto text = read_text_file(name_or_path, reading);
    for (const auto& found : reading.errors()) {
      const bool named = !named_at.file.empty();
      diagnostics.error(named ? named_at : found.where, named ? key : "",
                        named ? fmt::format("{} {}", name_or_path, found.message) : found.message);
    }
    auto profile = text ? parse_profile(*text, name_or_path, diagnostics) : std::nullopt;
    if (profile) return std::move(*profile);
    return Error{ErrorCode::invalid, fmt::format("the cost profile {} has errors", name_or_path)};
  }
  for (const auto& profile : builtin_profiles()) {
    if (profile.name == name_or_path) return profile;
  }
  const auto names = builtin_names();
  const auto near = nearest_name(name_or_path, names);
  const auto message = fmt::format("no cost profile is called \"{}\"{}; there are {}, or the path of a file of your own, ending in .toml",
                                   name_or_path, near.empty() ? "" : fmt::format(", did you mean \"{}\"?", near), fmt::join(names, ", "));
  diagnostics.error(named_at, key, message);
  return Error{ErrorCode::invalid, message};
}

}  // namespace xdc
