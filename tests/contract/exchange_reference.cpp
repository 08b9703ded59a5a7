#include "tests/contract/exchange_reference.hpp"

#include <algorithm>
#include <optional>

#include "tests/kernels/codec_reference.hpp"

namespace xdc::contract {
namespace {

void add(Vector& acc, const Vector& term, Range range, bool first) {
  for (auto i = static_cast<size_t>(range.begin); i < static_cast<size_t>(range.end()); ++i) {
    acc[i] = first ? term[i] : acc[i] + term[i];
  }
}

// Members ring on from one to the next; index modulo their number.
size_t wrapped(size_t i, size_t n) { return i % n; }

}  // namespace

Vector ExchangeReference::round(const std::vector<Vector>& contributions) {
  ++round_;
  contributions_ = contributions;
  Vector sum(static_cast<size_t>(plan_.parameters));
  for (const Range bucket : plan_.buckets) {
    if (std::holds_alternative<RingAllReduceSpec>(plan_.spec)) {
      flat_ring(bucket, sum);
    } else if (std::holds_alternative<ParameterServerSpec>(plan_.spec)) {
      server(bucket, sum);
    } else {
      hierarchical(bucket, sum);
    }
  }
  return sum;
}

Vector ExchangeReference::through(Tier tier, Encoded what, MemberId sender, int hop, Range range, const Vector& values) {
  const CodecSpec& codec = plan_.codecs.of(tier);
  const RoundingKey key{plan_.seed, round_, static_cast<uint32_t>(sender), static_cast<uint32_t>(hop), tier, what == Encoded::finished};
  // A finished sum is everyone's: one residual.
  Vector& kept = residuals_[{tier, what, what == Encoded::finished ? -1 : sender}];
  kept.resize(values.size());
  const auto piece = [&](const Vector& of) { return Vector(of.begin() + range.begin, of.begin() + range.end()); };
  Vector residual = piece(kept);
  const Vector decoded = codec.error_feedback ? reference_feedback(codec, piece(values), key, range.begin, residual)
                                              : reference_round_trip(codec, piece(values), key, range.begin);
  std::copy(residual.begin(), residual.end(), kept.begin() + range.begin);
  Vector all(values.size());
  std::copy(decoded.begin(), decoded.end(), all.begin() + range.begin);
  return all;
}

void ExchangeReference::server(Range bucket, Vector& sum) {
  const auto& spec = std::get<ParameterServerSpec>(plan_.spec);
  const auto servers = plan_.cluster.servers();
  std::vector<Range> shards;
  for (const Range place : deal({0, plan_.parameters}, spec.sharded ? static_cast<int>(plan_.cluster.datacenters.size()) : 1)) {
    const auto dealt = deal(place, spec.shards);
    shards.insert(shards.end(), dealt.begin(), dealt.end());
  }
  for (size_t s = 0; s < servers.size(); ++s) {
    const Range piece = intersection(bucket, shards[s]);
    if (spec.aggregator) {
      aggregated(bucket, shards[s], servers[s], sum);
      continue;
    }
    for (MemberId w = 0; w < plan_.cluster.workers() && piece.count > 0; ++w) {
      add(sum, through(plan_.tier_between(w, servers[s]), Encoded::contribution, w, 0, piece, contributions_[static_cast<size_t>(w)]),
          piece, w == 0);
    }
  }
}

// Each datacenter's sum of a lane, in rank order, then those in the topology's.
void ExchangeReference::aggregated(Range bucket, Range shard, MemberId server, Vector& sum) {
  size_t lanes = 1;
  for (size_t d = 0; d < plan_.cluster.datacenters.size(); ++d) {
    lanes = std::max(lanes, plan_.cluster.workers_of(static_cast<int>(d)).size());
  }
  const auto parts = deal(bucket, static_cast<int>(lanes));
  for (size_t lane = 0; lane < lanes; ++lane) {
    const Range piece = intersection(parts[lane], shard);
    for (size_t d = 0; d < plan_.cluster.datacenters.size() && piece.count > 0; ++d) {
      const auto workers = plan_.cluster.workers_of(static_cast<int>(d));
      const size_t owner = lane % workers.size();
      Vector inside(static_cast<size_t>(plan_.parameters));
      for (size_t r = 0; r < workers.size(); ++r) {
        const Vector& own = contributions_[static_cast<size_t>(workers[r])];
        // A sum inside is encoded as a whole, whatever servers it is cut for: no matter to a codec that works block by block.
        add(inside, r == owner ? own : through(Tier::lan, Encoded::contribution, workers[r], 0, piece, own), piece, r == 0);
      }
      add(sum, through(plan_.tier_between(workers[owner], server), Encoded::contribution, workers[owner], 0, piece, inside), piece, d == 0);
    }
  }
}

Vector ExchangeReference::along(Range range, const std::vector<Vector>& terms, const std::vector<MemberId>& ring,
                                const std::vector<Tier>& hops, std::optional<Tier> finished) {
  const size_t n = ring.size();
  const auto chunks = deal(range, static_cast<int>(n));
  Vector sum(terms[0].size());
  for (size_t c = 0; c < n; ++c) {
    if (chunks[c].count == 0) {
      continue;
    }
    Vector partial = terms[c];
    for (size_t step = 1; step < n; ++step) {
      const size_t from = wrapped(c + step - 1, n);
      partial = through(hops[from], Encoded::contribution, ring[from], static_cast<int>(step) - 1, chunks[c], partial);
      add(partial, terms[wrapped(c + step, n)], chunks[c], false);
    }
    if (finished) {
      partial = through(*finished, Encoded::finished, 0, 0, chunks[c], partial);
    }
    add(sum, partial, chunks[c], true);
  }
  return sum;
}

void ExchangeReference::flat_ring(Range bucket, Vector& sum) {
  std::vector<MemberId> order;
  const bool interleaved = std::get<RingAllReduceSpec>(plan_.spec).order == RingOrder::interleaved;
  for (int local = 0; interleaved && local < plan_.cluster.workers(); ++local) {
    for (size_t d = 0; d < plan_.cluster.datacenters.size(); ++d) {
      const auto workers = plan_.cluster.workers_of(static_cast<int>(d));
      if (local < static_cast<int>(workers.size())) {
        order.push_back(workers[static_cast<size_t>(local)]);
      }
    }
  }
  for (MemberId w = 0; !interleaved && w < plan_.cluster.workers(); ++w) {
    order.push_back(w);
  }
  std::vector<Vector> terms;
  std::vector<Tier> hops;
  bool wan = false, lan = false;
  for (size_t k = 0; k < order.size(); ++k) {
    terms.push_back(contributions_[static_cast<size_t>(order[k])]);
    const auto datacenter = [&](size_t at) {
      return plan_.cluster.members[static_cast<size_t>(order[wrapped(at, order.size())])].datacenter;
    };
    const bool crosses = datacenter(k) != datacenter(k + 1);
    hops.push_back(crosses ? Tier::wan : Tier::lan);
    (crosses ? wan : lan) = true;
  }
  std::optional<Tier> finished;
  if (order.size() > 1 && wan && plan_.codecs.wan.kind != CodecKind::none) {
    finished = Tier::wan;
  } else if (order.size() > 1 && lan && plan_.codecs.lan.kind != CodecKind::none) {
    finished = Tier::lan;
  }
  add(sum, along(bucket, terms, order, hops, finished), bucket, true);
}

void ExchangeReference::hierarchical(Range bucket, Vector& sum) {
  const int lanes = std::get<HierarchicalAllReduceSpec>(plan_.spec).lanes;
  const auto shards = deal(bucket, lanes);
  for (size_t lane = 0; lane < shards.size(); ++lane) {
    if (shards[lane].count == 0) {
      continue;
    }
    std::vector<Vector> partial;
    std::vector<MemberId> speakers;
    bool alone_everywhere = true;
    for (size_t d = 0; d < plan_.cluster.datacenters.size(); ++d) {
      const auto workers = plan_.cluster.workers_of(static_cast<int>(d));
      const size_t owner = lane % workers.size();
      Vector inside(static_cast<size_t>(plan_.parameters));
      for (size_t r = 0; r < workers.size(); ++r) {
        const Vector& own = contributions_[static_cast<size_t>(workers[r])];
        add(inside, r == owner ? own : through(Tier::lan, Encoded::contribution, workers[r], 0, shards[lane], own), shards[lane], r == 0);
      }
      alone_everywhere = alone_everywhere && workers.size() == 1;
      partial.push_back(inside);
      speakers.push_back(workers[owner]);
    }
    const Vector total = across(shards[lane], partial, speakers);
    add(sum, alone_everywhere ? total : through(Tier::lan, Encoded::finished, 0, 0, shards[lane], total), shards[lane], true);
  }
}

Vector ExchangeReference::across(Range shard, const std::vector<Vector>& partial, const std::vector<MemberId>& speakers) {
  const size_t datacenters = partial.size();
  if (datacenters == 1) {
    return partial[0];
  }
  const auto exchange = std::get<HierarchicalAllReduceSpec>(plan_.spec).exchange;
  if (exchange == Exchange::ring) {
    return along(shard, partial, speakers, std::vector<Tier>(datacenters, Tier::wan), Tier::wan);
  }
  Vector sum(partial[0].size());
  if (exchange == Exchange::allgather) {
    for (size_t d = 0; d < datacenters; ++d) {
      add(sum, through(Tier::wan, Encoded::contribution, speakers[d], 0, shard, partial[d]), shard, d == 0);
    }
    return sum;
  }
  const auto parts = deal(shard, static_cast<int>(datacenters));
  for (size_t p = 0; p < datacenters; ++p) {
    if (parts[p].count == 0) {
      continue;
    }
    Vector part(sum.size());
    for (size_t d = 0; d < datacenters; ++d) {
      add(part, d == p ? partial[d] : through(Tier::wan, Encoded::contribution, speakers[d], 0, parts[p], partial[d]), parts[p], d == 0);
    }
    add(sum, through(Tier::wan, Encoded::finished, 0, 0, parts[p], part), parts[p], true);
  }
  return sum;
}

}  // namespace xdc::contract
