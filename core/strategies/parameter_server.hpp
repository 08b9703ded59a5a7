// The two sides of parameter_server, each in a file of its own.
#pragma once

#include "core/strategies/parameter_server_layout.hpp"
#include "core/strategies/strategy.hpp"

namespace xdc {

std::unique_ptr<WorkerStrategy> make_parameter_server_worker(const StrategyPlan& plan, Env& env, MemberId self);
std::unique_ptr<ServerStrategy> make_parameter_server(const StrategyPlan& plan, const Optimizer& optimizer, Env& env, MemberId self);

// A piece's message, told from those of the same bucket by shard and lane.
inline MessageTag tag_of(const ExchangeCall& call, Phase phase, const ServerPiece& piece) {
  constexpr int kMostServers = 1 << 16;
  return {call.round, phase, call.bucket, piece.lane * kMostServers + piece.shard};
}

}  // namespace xdc
