#include "core/strategies/registry.hpp"

#include "core/strategies/kinds.hpp"

namespace xdc {

// In the order of StrategySpec's alternatives.
const std::vector<StrategyKind>& strategy_kinds() {
  static const std::vector<StrategyKind> kinds{parameter_server_kind(), ring_allreduce_kind(), hierarchical_allreduce_kind(),
                                               local_sgd_kind()};
  static_assert(std::variant_size_v<StrategySpec> == 4);
  return kinds;
}

std::vector<std::string> strategy_names() {
  std::vector<std::string> names;
  for (const auto& kind : strategy_kinds()) {
    names.push_back(kind.name);
  }
  return names;
}

const StrategyKind* find_strategy(const std::string& name) {
  for (const auto& kind : strategy_kinds()) {
    if (kind.name == name) {
      return &kind;
    }
  }
  return nullptr;
}

const StrategyKind& strategy_of(const StrategySpec& spec) { return strategy_kinds()[spec.index()]; }

const StrategyKind* read_strategy(const Value& value, const std::string& path, const Topology& topology, Diagnostics& diagnostics,
                                  StrategySpec& spec) {
  const size_t errors = diagnostics.errors().size();
  TableReader table(value, path, diagnostics);
  const StrategyKind* kind = find_strategy(table.required_one_of("kind", strategy_names()));
  if (kind == nullptr) {
    return nullptr;
  }
  spec = kind->read(table, topology);
  table.finish();
  return diagnostics.errors().size() == errors ? kind : nullptr;
}

}  // namespace xdc
