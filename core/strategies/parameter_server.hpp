// The two sides of parameter_server, each in a file of its own.
#pragma once

#include "core/strategies/parameter_server_layout.hpp"
#include "core/strategies/strategy.hpp"

namespace xdc {

std::unique_ptr<WorkerStrategy> make_parameter_server_worker(const StrategyPlan& plan, Env& env, MemberId self);
std::unique_ptr<ServerStrategy> make_parameter_server(const StrategyPlan& plan, const Optimizer& optimizer, Env& env, MemberId self);
std::unique_ptr<PushServer> make_push_server(const StrategyPlan& plan, const Optimizer& optimizer, Env& env, MemberId self);

// The optimizer's update of some of a server's elements, from the round's sets before into those after.
void update_range(const StrategyPlan& plan, const Optimizer& optimizer, Env& env, Stream stream, Range owned, const ServerRound& round,
                  Range range, Tensor gradient);

// The channels. In a synchronous round pushes and answers share the first.
inline constexpr const char* kServerChannel = "parameter server";
inline constexpr const char* kAnswerChannel = "parameter server answers";

// A piece's message, told from the same pusher's others of the bucket by shard and by which of the pusher's lanes it is. By that rather
// than by the lane, so that what like members say is alike.
inline MessageTag tag_of(const ExchangeCall& call, Phase phase, const ServerPiece& piece, int turn) {
  constexpr int kMostServers = 1 << 16;
  return {call.round, phase, call.bucket, turn * kMostServers + piece.shard};
}

}  // namespace xdc
