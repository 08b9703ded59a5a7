// The entries of the registry, each defined in its strategy's own file.
#pragma once

#include "core/strategies/registry.hpp"

namespace xdc {

StrategyKind parameter_server_kind();
StrategyKind ring_allreduce_kind();
StrategyKind hierarchical_allreduce_kind();
StrategyKind local_sgd_kind();

}  // namespace xdc
