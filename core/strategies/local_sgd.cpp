// local_sgd: train apart, then average what was learned, and only then use the line between datacenters.
//
//   steps       every rank takes H = `period` optimizer steps of its own, each by the mean gradient of its own samples; then
//               x = x_agreed + sum over ranks of (n_r / W) (x_r - x_agreed), n_r its samples since the last average, W their sum
//   exchange    the differences travel as hierarchical_allreduce's gradients do: the same lanes, exchanges, codecs and additions
//   state       the optimizer's stays with its rank, and is neither averaged nor reset
//   round       H steps; the model is agreed on, evaluated and committed between rounds
//   bytes       hierarchical_allreduce's, divided by H
//   source      Stich 2019 (1805.09767), algorithm 1; weighted by samples as McMahan et al. 2017 (1602.05629), algorithm 1
#include "core/strategies/kinds.hpp"

namespace xdc {
namespace {

constexpr int64_t kLongestPeriod = 1'000'000;

// The averaging is read and described as the strategy that does it.
StrategySpec read(TableReader& table, const Topology& topology) {
  LocalSgdSpec spec;
  const auto period = table.optional_integer("period", 1, kLongestPeriod);
  if (!table.has("period")) {
    table.error("period", "is required: the number of local steps between two averages");
  }
  spec.period = period.value_or(1);
  spec.averaging = std::get<HierarchicalAllReduceSpec>(hierarchical_allreduce_kind().read(table, topology));
  return spec;
}

Description describe(const StrategyPlan& plan) {
  StrategyPlan averaging = plan;
  averaging.spec = std::get<LocalSgdSpec>(plan.spec).averaging;
  Description description = hierarchical_allreduce_kind().describe(averaging);
  description.front().second = std::string("local_sgd");
  description.insert(description.begin() + 1, {"period", plan.steps_per_round()});
  return description;
}

}  // namespace

StrategyKind local_sgd_kind() {
  StrategyKind kind = hierarchical_allreduce_kind();
  kind.name = "local_sgd";
  kind.read = read;
  kind.describe = describe;
  return kind;
}

}  // namespace xdc
