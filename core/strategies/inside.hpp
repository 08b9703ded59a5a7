// How do a datacenter's workers add up among themselves, and hand out what came of it? By the hardware's collectives where the fabric has
// them, directly where not: the same sums in the same order. Shared by every strategy that adds inside a datacenter first.
#pragma once

#include <memory>
#include <string>

#include "core/seam/env.hpp"
#include "core/strategies/hierarchy.hpp"
#include "core/strategies/strategy.hpp"

namespace xdc {

class InsideExchange {
 public:
  // All outlive it.
  InsideExchange(const StrategyPlan& plan, Env& env, const Hierarchy& hierarchy) : plan_(plan), env_(env), hierarchy_(hierarchy) {}

  // `purpose` and the datacenter's name are the channel's. Errors: those of Fabric::native_collectives but unsupported.
  Status connect(const View& everyone, const std::string& purpose, Deadline deadline);
  // As Communicator::abort.
  void abort(const Error& error);

  // flat f32 [geometry.real()], in place; `inside` is the hierarchy's of this bucket, and its sums are filled in. Afterwards each of its
  // parts holds, on its owner, the sum over the datacenter's workers in rank order; what others hold there is undefined. `own` is the same
  // for every bucket of a round; buckets come in order.
  Status reduce_scatter(ExchangeSite& site, const ExchangeCall& call, Tensor flat, ControlSum own, Reduction& inside);
  // Every worker's part = its owner's, as it comes out of the site's lan codec, encoded once.
  Status all_gather(ExchangeSite& site, const ExchangeCall& call, Tensor flat, Reduction& inside);

 private:
  Status round_trip(ExchangeSite& site, const ExchangeCall& call, Tensor flat, const Reduction& inside, Encoded what);
  std::vector<Part> native_parts(const ExchangeSite& site, const ExchangeCall& call, const Reduction& inside) const;
  Range bucket_of(const ExchangeCall& call) const { return plan_.buckets[static_cast<size_t>(call.bucket)]; }
  std::span<int64_t> counts();
  Tensor counts_tensor();

  const StrategyPlan& plan_;
  Env& env_;
  const Hierarchy& hierarchy_;
  std::unique_ptr<Collectives> native_;
  std::unique_ptr<Buffer> counts_;
  ControlSum datacenter_sum_, total_;
};

}  // namespace xdc
