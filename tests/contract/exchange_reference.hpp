// What should an exchange give? What the documents say becomes of the contributions, element by element, sharing nothing with the
// transfer code but how the flat buffer is cut.
#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "core/strategies/strategy.hpp"

namespace xdc::contract {

using Vector = std::vector<float>;

class ExchangeReference {
 public:
  explicit ExchangeReference(const StrategyPlan& plan) : plan_(plan) {}

  // The sum that every worker or server has after the next round, of contributions by worker. Keeps residuals.
  Vector round(const std::vector<Vector>& contributions);

 private:
  // decode(encode(values + residual)) of a range, elsewhere 0. Members other than the sender are nobody's business.
  Vector through(Tier tier, Encoded what, MemberId sender, int hop, Range range, const Vector& values);
  void server(Range bucket, Vector& sum);
  void aggregated(Range bucket, Range shard, MemberId server, Vector& sum);
  void flat_ring(Range bucket, Vector& sum);
  void hierarchical(Range bucket, Vector& sum);
  // One lane's shard, summed over the datacenters; `speakers` send for them.
  Vector across(Range shard, const std::vector<Vector>& partial, const std::vector<MemberId>& speakers);
  // Along a ring, chunk by chunk.
  Vector along(Range range, const std::vector<Vector>& terms, const std::vector<MemberId>& ring, const std::vector<Tier>& hops,
               std::optional<Tier> finished);

  const StrategyPlan& plan_;
  int64_t round_ = 0;
  std::vector<Vector> contributions_;
  std::map<std::tuple<Tier, Encoded, MemberId>, Vector> residuals_;
};

}  // namespace xdc::contract
