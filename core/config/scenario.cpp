#include "core/config/scenario.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "core/base/digest.hpp"
#include "core/config/overrides.hpp"
#include "core/config/scenario_tables.hpp"
#include "core/config/table_reader.hpp"
#include "core/config/toml_reader.hpp"

namespace xdc {
namespace {

constexpr int64_t kMostVariants = 1000;

// What a variant may say otherwise than its scenario.
const std::vector<std::string>& overridable() {
  static const std::vector<std::string> keys{"train", "model", "strategy", "codec", "commit", "policy", "expect"};
  return keys;
}

bool is_overridable(std::string_view key) { return std::find(overridable().begin(), overridable().end(), key) != overridable().end(); }

struct Overrides {
  std::vector<Override> general;
  struct OfVariant {
    Override change;
    size_t variant;
    size_t first;  // the first step inside the variant's table
  };
  std::vector<OfVariant> of_variants;
};

const ValueArray* variant_list(const Value& root) {
  const auto found = root.table()->find("variant");
  return found == root.table()->end() ? nullptr : found->second.array();
}

std::vector<std::string> variant_names(const Value& root) {
  std::vector<std::string> names;
  const auto* list = variant_list(root);
  for (size_t i = 0; list != nullptr && i < list->size(); ++i) {
    const auto* table = (*list)[i].table();
    const auto name = table == nullptr ? ValueTable::const_iterator{} : table->find("name");
    const bool named = table != nullptr && name != table->end() && name->second.string() != nullptr;
    names.push_back(named ? *name->second.string() : std::string());
  }
  return names;
}

// "variant[0].x" or "variant.NAME.x": which variant, and where its own path begins.
std::optional<Overrides::OfVariant> find_variant(const Override& change, const Value& root, Diagnostics& diagnostics) {
  const auto names = variant_names(root);
  const auto refuse = [&](std::string why) {
    diagnostics.error(change.value.where, change.text, std::move(why));
    return std::nullopt;
  };
  if (names.empty()) return refuse("the scenario has no [[variant]]");
  if (change.path.size() < 3) return refuse("a key of the variant is wanted, as in variant[0].train.eval_every=50");
  const auto& step = change.path[1];
  if (step.index) {
    if (*step.index >= names.size())
      return refuse(fmt::format("there is no variant[{}]; there are {}, counted from 0", *step.index, names.size()));
    return Overrides::OfVariant{change, *step.index, 2};
  }
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == step.key) return Overrides::OfVariant{change, i, 2};
  }
  const auto near = nearest_name(step.key, names);
  return refuse(fmt::format("no variant is called \"{}\"{}; there are: {}", step.key,
                            near.empty() ? "" : fmt::format(", did you mean \"{}\"?", near), fmt::join(names, ", ")));
}

Overrides read_overrides(const std::vector<std::string>& sets, const Value& root, Diagnostics& diagnostics) {
  Overrides out;
  for (const auto& text : sets) {
    auto change = parse_override(text, diagnostics);
    if (!change) continue;
    if (change->path.front().key != "variant") {
      out.general.push_back(std::move(*change));
    } else if (auto found = find_variant(*change, root, diagnostics)) {
      out.of_variants.push_back(std::move(*found));
    }
  }
  return out;
}

void apply_general(Value& root, const Overrides& overrides, bool variant_only, Diagnostics& diagnostics) {
  for (const auto& change : overrides.general) {
    if (!variant_only || is_overridable(change.path.front().key)) apply_override(root, change, 0, diagnostics);
  }
}

void read_typed(ScenarioVariant& variant, Diagnostics& diagnostics) {
  const auto required_table = [&](std::string_view key) {
    const auto* value = variant.find(key);
    if (value == nullptr) {
      diagnostics.error(variant.where, variant.index < 0 ? std::string(key) : fmt::format("variant[{}].{}", variant.index, key),
                        fmt::format("is required (variant \"{}\")", variant.name));
    } else if (value->table() == nullptr) {
      diagnostics.error(value->where, variant.path_of(key), fmt::format("a table is wanted, not {}", describe(*value)));
      std::get<ValueTable>(variant.root.node).erase(std::string(key));
    }
  };
  required_table("strategy");
  required_table("model");
  required_table("train");
  if (variant.find("codec") != nullptr) required_table("codec");
  if (const auto* train = variant.find("train")) variant.train = read_train(*train, variant.path_of("train"), diagnostics);
  if (const auto* expect = variant.find("expect")) variant.expect = read_expect(*expect, variant.path_of("expect"), diagnostics);
  if (const auto* policy = variant.find("policy")) variant.policy = read_policy(*policy, variant.path_of("policy"), diagnostics);
  if (const auto* commit = variant.find("commit")) {
    Value table{commit->where, ValueTable{{"commit", *commit}}};
    const bool own = variant.path_of("commit") != "commit";
    TableReader reader(table, own ? fmt::format("variant[{}]", variant.index) : "", diagnostics);
    variant.commit_by_vote = reader.one_of("commit", {"undo", "vote"}, "undo") == "vote";
  }
}

ScenarioVariant make_variant(const Value& base, const Value& own, int index, const Overrides& overrides, Diagnostics& diagnostics) {
  ScenarioVariant out;
  out.index = index;
  out.where = own.where;
  const auto path = fmt::format("variant[{}]", index);
  Value changed = own;
  TableReader table(own, path, diagnostics);
  if (own.table() == nullptr) changed.node = ValueTable{};
  out.name = table.required_string("name");
  for (const auto& key : overridable()) {
    if (table.any(key) != nullptr) out.own_keys.push_back(key);
  }
  table.finish();
  std::get<ValueTable>(changed.node).erase("name");
  out.root = merged(base, changed);
  out.root.where = own.where;
  apply_general(out.root, overrides, true, diagnostics);
  for (const auto& change : overrides.of_variants) {
    if (change.variant == static_cast<size_t>(index)) apply_override(out.root, change.change, change.first, diagnostics);
  }
  return out;
}

// The scenario itself, when it has no [[variant]].
std::optional<ScenarioVariant> only_variant(const Value& base, Diagnostics& diagnostics) {
  const auto strategy = base.table()->find("strategy");
  if (strategy == base.table()->end()) {
    diagnostics.error(base.where, "variant", "there is nothing to run: write [[variant]] tables, or one [strategy]");
    return std::nullopt;
  }
  ScenarioVariant out;
  out.root = base;
  out.where = strategy->second.where;
  out.name = "strategy";
  if (const auto* table = strategy->second.table()) {
    const auto kind = table->find("kind");
    if (kind != table->end() && kind->second.string() != nullptr) out.name = *kind->second.string();
  }
  return out;
}

void check_names(const std::vector<ScenarioVariant>& variants, Diagnostics& diagnostics) {
  std::map<std::string, const ScenarioVariant*> seen;
  for (const auto& variant : variants) {
    if (variant.name.empty()) continue;
    const auto [first, is_new] = seen.emplace(variant.name, &variant);
    if (!is_new) {
      diagnostics.error(variant.where, fmt::format("variant[{}].name", variant.index),
                        fmt::format("\"{}\" is already the name of variant[{}]", variant.name, first->second->index));
    }
  }
}

std::vector<ScenarioVariant> read_variants(const Value& root, const Value& base, const Overrides& overrides, Diagnostics& diagnostics) {
  std::vector<ScenarioVariant> out;
  const auto* list = variant_list(root);
  if (list == nullptr) {
    if (auto only = only_variant(base, diagnostics)) out.push_back(std::move(*only));
  } else {
    if (list->empty() || list->size() > static_cast<size_t>(kMostVariants)) {
      diagnostics.error(root.table()->find("variant")->second.where, "variant",
                        fmt::format("between 1 and {} variants are wanted", kMostVariants));
    }
    for (size_t i = 0; i < std::min(list->size(), static_cast<size_t>(kMostVariants)); ++i) {
      out.push_back(make_variant(base, (*list)[i], static_cast<int>(i), overrides, diagnostics));
    }
    check_names(out, diagnostics);
  }
  for (auto& variant : out) read_typed(variant, diagnostics);
  return out;
}

void read_top(Scenario& out, Diagnostics& diagnostics) {
  TableReader top(out.root, "", diagnostics);
  out.topology_where = top.where("topology");
  out.topology_path = top.required_string("topology");
  if (!out.topology_path.empty()) out.topology_path = resolve_path(out.topology_path, out.topology_where);
  out.seed = static_cast<uint64_t>(top.integer("seed", 0, std::numeric_limits<int64_t>::max(), 0));
  out.phantom = top.one_of("payload", {"real", "phantom"}, "real") == "phantom";
  out.native_numerics = top.one_of("numerics", {"portable", "native"}, "portable") == "native";
  if (const auto* data = top.table("data")) {
    out.data = read_data(*data, "data", out.phantom, diagnostics);
  } else if (!top.has("data")) {
    top.error("data", "is required");
  }
  if (const auto* checkpoint = top.table("checkpoint")) out.checkpoint = read_checkpoint(*checkpoint, "checkpoint", diagnostics);
  if (const auto* faults = top.array("fault")) {
    for (const auto& fault : *faults->array())
      out.faults.push_back(read_fault(fault, fmt::format("fault[{}]", out.faults.size()), diagnostics));
  }
  (void)top.array("variant");
  for (const auto& key : overridable()) (void)top.any(key);
  top.finish();
}

// Of what is run, variant by variant: what was inherited, overridden or set is all the same. Without paths.
std::string canonical_of(const Scenario& scenario) {
  auto out = fmt::format("seed {}\n", scenario.seed);
  for (const auto& variant : scenario.variants) {
    auto root = variant.root;
    auto& table = std::get<ValueTable>(root.node);
    table.erase("topology");
    table.erase("checkpoint");  // saving what is trained does not change it
    if (const auto data = table.find("data"); data != table.end() && data->second.table() != nullptr) {
      std::get<ValueTable>(data->second.node).erase("path");
    }
    out += fmt::format("{}\n{}\n", variant.name, canonical_text(root));
  }
  const auto faults = scenario.root.table()->find("fault");
  return faults == scenario.root.table()->end() ? out : out + canonical_text(faults->second);
}

// What every variant starts from.
Value base_of(const Value& root) {
  Value base = root;
  auto& table = std::get<ValueTable>(base.node);
  table.erase("variant");
  table.erase("fault");
  return base;
}

}  // namespace

const Value* ScenarioVariant::find(std::string_view key) const {
  const auto found = root.table()->find(key);
  return found == root.table()->end() ? nullptr : &found->second;
}

std::string ScenarioVariant::path_of(std::string_view key) const {
  const bool own = std::find(own_keys.begin(), own_keys.end(), key) != own_keys.end();
  return own ? fmt::format("variant[{}].{}", index, key) : std::string(key);
}

std::optional<Scenario> read_scenario(const std::string& path, const std::vector<std::string>& sets, Diagnostics& diagnostics) {
  auto tree = read_toml_file(path, diagnostics);
  if (!tree) return std::nullopt;
  Scenario out;
  out.path = path;
  out.root = std::move(*tree);
  const auto overrides = read_overrides(sets, out.root, diagnostics);
  apply_general(out.root, overrides, false, diagnostics);
  read_top(out, diagnostics);
  out.variants = read_variants(out.root, base_of(out.root), overrides, diagnostics);
  out.canonical = canonical_of(out);
  return out;
}

std::string scenario_digest(const Scenario& scenario, std::string_view topology_canonical) {
  Digest digest;
  digest.update(topology_canonical);
  digest.update("\n");
  digest.update(scenario.canonical);
  return digest.hex();
}

}  // namespace xdc
