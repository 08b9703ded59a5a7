#include "core/collectives/ring.hpp"

#include <algorithm>

namespace xdc {
namespace {

int wrapped(int i, int n) { return (i % n + n) % n; }

CodecSpec finished_codec(const ExchangeSite& site, const RingReduction& ring) {
  const auto tier = finished_tier(ring, site.coding.codecs);
  return tier ? site.codec(*tier) : CodecSpec{};
}

// What one ring is doing. Received chunks take (n-1)/n S of scratch in all: each keeps a place of its own until the bucket is done.
struct RingState {
  std::vector<ControlSum> sums;      // per chunk, as far as known here
  std::vector<WireTensor> finished;  // per chunk, the encoded sum as it travels
  Transfer sending, receiving;
  bool has_sending = false, has_receiving = false;
};

Status wait_for_send(ExchangeSite& site, const ExchangeCall& call, RingState& state) {
  if (state.has_sending) {
    XDC_TRY_ASSIGN(const ControlSum ignored, await(site, state.sending, call.deadline));
    static_cast<void>(ignored);
    state.has_sending = false;
  }
  return ok_status();
}

Status reduce_step(ExchangeSite& site, const ExchangeCall& call, Tensor flat, std::span<RingReduction> rings,
                   std::vector<RingState>& states, int step) {
  for (size_t r = 0; r < rings.size(); ++r) {
    auto& ring = rings[r];
    const int n = ring.group.size();
    if (step >= n - 1) {
      continue;
    }
    const int out = wrapped(ring.group.me - step, n);
    const int in = wrapped(out - 1, n);
    const int previous = wrapped(ring.group.me - 1, n);
    const Range in_range = ring.chunks[static_cast<size_t>(in)];
    const Range out_range = ring.chunks[static_cast<size_t>(out)];
    if (in_range.count > 0) {
      XDC_TRY_ASSIGN(const WireTensor room, inbox(site, site.codec(ring.hop[static_cast<size_t>(previous)]), in_range));
      states[r].receiving =
          receive(site, ring.group.ranks[static_cast<size_t>(previous)], {call.round, Phase::reduce_scatter, call.bucket, in}, room);
      states[r].has_receiving = true;
    }
    if (out_range.count > 0) {
      const Encoding encoding{ring.hop[static_cast<size_t>(ring.group.me)], Encoded::contribution, out_range, step};
      XDC_TRY_ASSIGN(const WireTensor wire, encode(site, call, encoding, site.geometry.slice(flat, out_range)));
      XDC_TRY(finish(site, call.deadline));
      XDC_TRY(wait_for_send(site, call, states[r]));
      states[r].sending = send(site, ring.group.ranks[static_cast<size_t>(wrapped(ring.group.me + 1, n))],
                               {call.round, Phase::reduce_scatter, call.bucket, out}, states[r].sums[static_cast<size_t>(out)], wire);
      states[r].has_sending = true;
    }
  }
  for (size_t r = 0; r < rings.size(); ++r) {
    if (!states[r].has_receiving) {
      continue;
    }
    auto& transfer = states[r].receiving;
    XDC_TRY_ASSIGN(const ControlSum sum, await(site, transfer, call.deadline));
    states[r].has_receiving = false;
    const auto in = static_cast<size_t>(transfer.tag.part);
    XDC_TRY_ASSIGN(const Tensor term, decoded(site, transfer.wire));
    add(site, transfer.wire.range, site.geometry.slice(flat, transfer.wire.range), term);
    states[r].sums[in] = states[r].sums[in] + sum;
  }
  return ok_status();
}

Status gather_step(ExchangeSite& site, const ExchangeCall& call, Tensor flat, std::span<RingReduction> rings,
                   std::vector<RingState>& states, int step) {
  for (size_t r = 0; r < rings.size(); ++r) {
    auto& ring = rings[r];
    const int n = ring.group.size();
    if (step >= n - 1) {
      continue;
    }
    const int out = wrapped(ring.group.me + 1 - step, n);
    const int in = wrapped(ring.group.me - step, n);
    const int previous = wrapped(ring.group.me - 1, n);
    const Range in_range = ring.chunks[static_cast<size_t>(in)];
    // A sum may arrive where a contribution was sent from: that one must be gone.
    XDC_TRY(wait_for_send(site, call, states[r]));
    if (in_range.count > 0) {
      const CodecSpec codec = finished_codec(site, ring);
      XDC_TRY_ASSIGN(const WireTensor room, codec.kind == CodecKind::none
                                                ? Result<WireTensor>(plain(in_range, site.geometry.slice(flat, in_range)))
                                                : inbox(site, codec, in_range));
      states[r].receiving =
          receive(site, ring.group.ranks[static_cast<size_t>(previous)], {call.round, Phase::all_gather, call.bucket, in}, room);
      states[r].has_receiving = true;
    }
    if (ring.chunks[static_cast<size_t>(out)].count > 0) {
      states[r].sending = send(site, ring.group.ranks[static_cast<size_t>(wrapped(ring.group.me + 1, n))],
                               {call.round, Phase::all_gather, call.bucket, out}, states[r].sums[static_cast<size_t>(out)],
                               states[r].finished[static_cast<size_t>(out)]);
      states[r].has_sending = true;
    }
  }
  for (size_t r = 0; r < rings.size(); ++r) {
    if (!states[r].has_receiving) {
      continue;
    }
    auto& transfer = states[r].receiving;
    const auto in = static_cast<size_t>(transfer.tag.part);
    XDC_TRY_ASSIGN(states[r].sums[in], await(site, transfer, call.deadline));
    states[r].has_receiving = false;
    states[r].finished[in] = transfer.wire;
    XDC_TRY(keep_decoded(site, transfer.wire, site.geometry.slice(flat, transfer.wire.range)));
  }
  return ok_status();
}

// The finished chunk of each ring is encoded once, here; its owner goes on with the decoded value.
Status encode_finished(ExchangeSite& site, const ExchangeCall& call, Tensor flat, std::span<RingReduction> rings,
                       std::vector<RingState>& states) {
  for (size_t r = 0; r < rings.size(); ++r) {
    auto& ring = rings[r];
    const auto own = static_cast<size_t>(wrapped(ring.group.me + 1, ring.group.size()));
    const Range range = ring.chunks[own];
    const Tensor slice = site.geometry.slice(flat, range);
    const auto tier = finished_tier(ring, site.coding.codecs);
    states[r].finished[own] = plain(range, slice);
    if (tier && range.count > 0) {
      XDC_TRY_ASSIGN(states[r].finished[own], encode(site, call, {*tier, Encoded::finished, range, 0}, slice));
      XDC_TRY(keep_decoded(site, states[r].finished[own], slice));
    }
  }
  return finish(site, call.deadline);
}

// Every chunk must have met every rank.
Status agree_on_sums(std::span<RingReduction> rings, const std::vector<RingState>& states) {
  for (size_t r = 0; r < rings.size(); ++r) {
    AgreedSum agreed;
    for (size_t c = 0; c < rings[r].chunks.size(); ++c) {
      XDC_TRY(agreed.meet(rings[r].chunks[c].count > 0 ? std::optional(states[r].sums[c]) : std::nullopt));
    }
    rings[r].sum = agreed.value();
  }
  return ok_status();
}

}  // namespace

std::optional<Tier> finished_tier(const RingReduction& ring, const TierCodecs& codecs) {
  if (ring.group.size() < 2) {
    return std::nullopt;
  }
  for (const Tier tier : {Tier::wan, Tier::lan}) {
    if (codecs.of(tier).kind != CodecKind::none && std::find(ring.hop.begin(), ring.hop.end(), tier) != ring.hop.end()) {
      return tier;
    }
  }
  return std::nullopt;
}

Status ring_all_reduce(ExchangeSite& site, const ExchangeCall& call, Tensor flat, std::span<RingReduction> rings) {
  std::vector<RingState> states(rings.size());
  int steps = 0;
  for (size_t r = 0; r < rings.size(); ++r) {
    states[r].sums.assign(rings[r].chunks.size(), *rings[r].sum);
    states[r].finished.resize(rings[r].chunks.size());
    steps = std::max(steps, rings[r].group.size() - 1);
  }
  for (int step = 0; step < steps; ++step) {
    XDC_TRY(reduce_step(site, call, flat, rings, states, step));
  }
  XDC_TRY(encode_finished(site, call, flat, rings, states));
  for (int step = 0; step < steps; ++step) {
    XDC_TRY(gather_step(site, call, flat, rings, states, step));
  }
  for (auto& state : states) {
    XDC_TRY(wait_for_send(site, call, state));
  }
  XDC_TRY(agree_on_sums(rings, states));
  return finish(site, call.deadline);
}

}  // namespace xdc
