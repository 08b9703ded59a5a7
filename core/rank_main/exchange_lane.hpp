// How does communication overlap with backward? A second lane runs the strategy's exchange, bucket by bucket, while the main
// lane still computes; the two hand over through signals alone.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "core/seam/env.hpp"
#include "core/strategies/strategy.hpp"

namespace xdc {

class ExchangeLane {
 public:
  ExchangeLane(Env& env, WorkerStrategy& strategy, size_t buckets);
  ~ExchangeLane();
  ExchangeLane(const ExchangeLane&) = delete;
  ExchangeLane& operator=(const ExchangeLane&) = delete;

  // Starts a round's exchange; `round.wait_bucket` is filled in here.
  void begin(WorkerRound round);
  // The next bucket of the round is finished once `event` is.
  void bucket_ready(Event event);
  // The main lane cannot finish the round: breaks the exchange. Call instead of the remaining bucket_ready().
  void give_up(const Error& error);
  // Waits for the end of the exchange, which keeps the round's deadline by itself.
  Result<ControlSum> finish();

 private:
  void run();
  Status wait_bucket(int bucket);

  Env& env_;
  WorkerStrategy& strategy_;
  std::unique_ptr<Signal> begin_, ready_, done_;
  // Per bucket, written before its ready_ post; nullopt: given up, and why.
  std::vector<std::optional<Event>> events_;
  size_t announced_ = 0;
  WorkerRound round_;
  Error given_up_;
  std::optional<Result<ControlSum>> outcome_;
  bool over_ = false;
  std::unique_ptr<Lane> lane_;
};

}  // namespace xdc
