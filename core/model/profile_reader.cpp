// Reads layers, which may be groups of layers, and writes out what is repeated.
#include "core/model/profile_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/config/table_reader.hpp"

namespace xdc {
namespace {

constexpr int64_t kMostParameters = 10'000'000'000'000;
constexpr double kMostFlops = 1e18;
constexpr double kMostValues = 1e15;
constexpr int64_t kMostRepeats = 10'000;
constexpr int64_t kMostLayers = 100'000;
constexpr int kDeepest = 4;
constexpr size_t kLongestName = 60;

// A layer as it is written: figures of its own, or parts.
struct Written {
  ProfileLayer figures;
  int64_t repeat = 1;
  std::vector<Written> parts;

  // Up to one more than is allowed, which is as good as any larger number.
  int64_t layers() const {
    int64_t once = parts.empty() ? 1 : 0;
    for (const auto& part : parts) once = std::min(once + part.layers(), kMostLayers + 1);
    return std::min(once * repeat, kMostLayers + 1);
  }
};

double required_number(TableReader& reader, std::string_view key, double most) {
  if (reader.has(key)) return reader.number(key, 0, most, 0);
  reader.error(key, "is required");
  return reader.number(key, 0, most, 0);
}

void read_figures(TableReader& reader, ProfileLayer& layer) {
  if (!reader.has("parameters")) reader.error("parameters", "is required; 0 for a layer without");
  layer.parameters = reader.integer("parameters", 0, kMostParameters, 0);
  layer.forward_flops = required_number(reader, "forward_flops", kMostFlops);
  layer.forward_values = required_number(reader, "forward_values", kMostValues);
  layer.kept_values = required_number(reader, "kept_values", kMostValues);
  layer.backward_flops = reader.number("backward_flops", 0, 2 * kMostFlops, 2 * layer.forward_flops);
  layer.backward_values = reader.number("backward_values", 0, 2 * kMostValues, 2 * layer.forward_values);
}

void check_name(TableReader& reader, const std::string& name) {
  const bool plain = std::ranges::all_of(name, [](char c) { return c != '/' && static_cast<unsigned char>(c) >= 0x20; });
  if (!plain) reader.error("name", "a name has neither slashes, which join the names of a group and its parts, nor control characters");
  if (name.size() > kLongestName) reader.error("name", fmt::format("a name has at most {} bytes, not {}", kLongestName, name.size()));
}

std::vector<Written> read_layers(const Value& array, const std::string& path, int depth, Diagnostics& diagnostics);

Written read_layer(const Value& value, const std::string& path, int depth, Diagnostics& diagnostics) {
  TableReader reader(value, path, diagnostics);
  Written layer;
  layer.figures.name = reader.required_string("name");
  check_name(reader, layer.figures.name);
  layer.repeat = reader.integer("repeat", 1, kMostRepeats, 1);
  const Value* parts = reader.array("part");
  if (!reader.has("part")) {
    read_figures(reader, layer.figures);
  } else if (parts != nullptr && depth == kDeepest) {
    reader.error("part", fmt::format("groups are nested more than {} deep", kDeepest));
  } else if (parts != nullptr) {
    layer.parts = read_layers(*parts, reader.path_of("part"), depth + 1, diagnostics);
    if (layer.parts.empty()) reader.error("part", "a group has at least one part");
  }
  reader.finish();
  return layer;
}

std::vector<Written> read_layers(const Value& array, const std::string& path, int depth, Diagnostics& diagnostics) {
  std::vector<Written> layers;
  std::set<std::string> names;
  for (const auto& item : *array.array()) {
    const auto place = fmt::format("{}[{}]", path, layers.size());
    layers.push_back(read_layer(item, place, depth, diagnostics));
    const auto& name = layers.back().figures.name;
    if (!name.empty() && !names.insert(name).second) {
      diagnostics.error(item.where, place + ".name", fmt::format("\"{}\" is the name of an earlier layer here", name));
    }
  }
  return layers;
}

// "block", "block/conv", "block #3/conv #2": numbered, from 1, where there are several.
void write_out(const std::vector<Written>& layers, const std::string& prefix, std::vector<ProfileLayer>& out) {
  for (const auto& layer : layers) {
    for (int64_t i = 1; i <= layer.repeat; ++i) {
      auto name = prefix + layer.figures.name + (layer.repeat > 1 ? fmt::format(" #{}", i) : "");
      if (layer.parts.empty()) {
        out.push_back(layer.figures);
        out.back().name = std::move(name);
      } else {
        write_out(layer.parts, name + "/", out);
      }
    }
  }
}

void check_totals(const CostProfile& profile, TableReader& reader) {
  // Layers are few enough for the sum to fit, whatever they hold.
  if (profile.parameters() == 0) reader.error("layer", "no layer has parameters: there would be nothing to exchange");
  if (profile.parameters() > kMostParameters) {
    reader.error("layer", fmt::format("the layers have {} parameters in all; {} at most", profile.parameters(), kMostParameters));
  }
  if (profile.forward_flops() <= 0) reader.error("layer", "no layer has forward_flops: training would take no time");
}

}  // namespace

std::optional<CostProfile> read_profile(const Value& tree, const std::vector<std::string>& taken, Diagnostics& diagnostics) {
  const size_t before = diagnostics.errors().size();
  TableReader reader(tree, "", diagnostics);
  CostProfile profile;
  profile.name = reader.required_string("name");
  if (std::ranges::find(taken, profile.name) != taken.end()) {
    reader.error("name", fmt::format("\"{}\" is a built-in profile; give yours a name of its own", profile.name));
  }
  profile.description = reader.required_string("description");
  profile.source = reader.required_string("source");
  profile.sample = reader.required_string("sample");
  std::vector<Written> layers;
  if (const Value* array = reader.array("layer")) {
    layers = read_layers(*array, "layer", 1, diagnostics);
  }
  if (!reader.has("layer") || (layers.empty() && diagnostics.errors().size() == before)) {
    reader.error("layer", "a profile has at least one [[layer]]");
  }
  reader.finish();
  if (diagnostics.errors().size() != before) return std::nullopt;

  int64_t count = 0;
  for (const auto& layer : layers) count = std::min(count + layer.layers(), kMostLayers + 1);
  if (count > kMostLayers) {
    reader.error("layer", fmt::format("with repeats written out there are more than {} layers", kMostLayers));
    return std::nullopt;
  }
  write_out(layers, "", profile.layers);
  check_totals(profile, reader);
  if (diagnostics.errors().size() != before) return std::nullopt;
  return profile;
}

}  // namespace xdc
