#include "core/collectives/direct.hpp"

namespace xdc {
namespace {

struct Outgoing {
  Rank to = 0;
  int part = 0;
  ControlSum sum;
  WireTensor wire;
};

// What has been encoded may travel once the stream has come to it: one wait for all of it.
Status start_sends(ExchangeSite& site, const ExchangeCall& call, Phase phase, const std::vector<Outgoing>& outgoing,
                   std::vector<Transfer>& sends) {
  if (outgoing.empty()) {
    return ok_status();
  }
  XDC_TRY(finish(site, call.deadline));
  for (const auto& message : outgoing) {
    sends.push_back(send(site, message.to, {call.round, phase, call.bucket, message.part}, message.sum, message.wire));
  }
  return ok_status();
}

// acc = contributions in group order; `received` holds the others', in group order. `own` is this rank's value and the result's place.
Result<ControlSum> add_in_order(ExchangeSite& site, const ExchangeCall& call, const Reduction& reduction, Range range,
                                std::span<Transfer> received, Tensor own, ControlSum own_sum) {
  ControlSum total;
  Tensor acc;
  size_t next = 0;
  for (int i = 0; i < reduction.group.size(); ++i) {
    Tensor term = own;
    ControlSum sum = own_sum;
    if (i != reduction.group.me) {
      auto& transfer = received[next++];
      XDC_TRY_ASSIGN(sum, await(site, transfer, call.deadline));
      XDC_TRY_ASSIGN(term, decoded(site, transfer.wire));
    }
    total = total + sum;
    if (i == 0) {
      acc = term;
    } else {
      add(site, range, acc, term);
    }
  }
  if (reduction.group.me != 0) {
    copy(site, range, own, acc);
  }
  return total;
}

// One part of one reduction.
struct PartOf {
  Reduction& reduction;
  size_t index;

  Range range() const { return reduction.parts[index]; }
  Tensor slice(const ExchangeSite& site, Tensor flat) const { return site.geometry.slice(flat, range()); }
  const CodecSpec& codec(const ExchangeSite& site) const { return site.codec(reduction.tier); }
  Encoding encoding(Encoded what) const { return {reduction.tier, what, range(), 0}; }
  bool mine() const { return reduction.owner[index] == reduction.group.me; }
  Rank owner() const { return reduction.group.ranks[static_cast<size_t>(reduction.owner[index])]; }
  std::optional<ControlSum>& sum() const { return reduction.sums[index]; }
  int tag() const { return static_cast<int>(index); }
  size_t others() const { return reduction.group.ranks.size() - 1; }

  // Everyone in the group but this rank, in its order.
  std::vector<Rank> peers() const {
    std::vector<Rank> peers;
    for (int i = 0; i < reduction.group.size(); ++i) {
      if (i != reduction.group.me) {
        peers.push_back(reduction.group.ranks[static_cast<size_t>(i)]);
      }
    }
    return peers;
  }
};

// In the order in which all ranks act. Parts without elements take no message and come with no sum.
std::vector<PartOf> parts_of(std::span<Reduction> reductions) {
  std::vector<PartOf> parts;
  for (auto& reduction : reductions) {
    for (size_t p = 0; p < reduction.parts.size(); ++p) {
      if (reduction.parts[p].count > 0) {
        parts.push_back({reduction, p});
      } else {
        reduction.sums[p].reset();
      }
    }
  }
  return parts;
}

Status expect_from_all(ExchangeSite& site, const ExchangeCall& call, Phase phase, const PartOf& part, std::vector<Transfer>& received) {
  for (const Rank peer : part.peers()) {
    XDC_TRY_ASSIGN(const WireTensor room, inbox(site, part.codec(site), part.range()));
    received.push_back(receive(site, peer, {call.round, phase, call.bucket, part.tag()}, room));
  }
  return ok_status();
}

void send_to_all(const PartOf& part, const WireTensor& wire, std::vector<Outgoing>& outgoing) {
  for (const Rank peer : part.peers()) {
    outgoing.push_back({peer, part.tag(), *part.sum(), wire});
  }
}

// Adds what was received for the part, the next of `received`, to this rank's own.
Status add_received(ExchangeSite& site, const ExchangeCall& call, const PartOf& part, Tensor flat, std::span<Transfer>& received) {
  XDC_TRY_ASSIGN(part.sum(), add_in_order(site, call, part.reduction, part.range(), received.first(part.others()), part.slice(site, flat),
                                          *part.sum()));
  received = received.subspan(part.others());
  return ok_status();
}

}  // namespace

Status direct_reduce_scatter(ExchangeSite& site, const ExchangeCall& call, Tensor flat, std::span<Reduction> reductions) {
  std::vector<Outgoing> outgoing;
  std::vector<Transfer> sends;
  std::vector<Transfer> received;
  const auto parts = parts_of(reductions);
  for (const auto& part : parts) {
    if (part.mine()) {
      XDC_TRY(expect_from_all(site, call, Phase::reduce_scatter, part, received));
    } else {
      XDC_TRY_ASSIGN(const WireTensor wire, encode(site, call, part.encoding(Encoded::contribution), part.slice(site, flat)));
      outgoing.push_back({part.owner(), part.tag(), *part.sum(), wire});
      part.sum().reset();
    }
  }
  XDC_TRY(start_sends(site, call, Phase::reduce_scatter, outgoing, sends));
  std::span<Transfer> left = received;
  for (const auto& part : parts) {
    if (part.mine()) {
      XDC_TRY(add_received(site, call, part, flat, left));
    }
  }
  XDC_TRY(await_all(site, sends, call.deadline));
  return finish(site, call.deadline);
}

Status direct_all_gather(ExchangeSite& site, const ExchangeCall& call, Tensor flat, std::span<Reduction> reductions) {
  std::vector<Outgoing> outgoing;
  std::vector<Transfer> sends;
  std::vector<Transfer> received;
  const auto parts = parts_of(reductions);
  for (const auto& part : parts) {
    const Tensor slice = part.slice(site, flat);
    if (!part.mine()) {
      // Without a codec the sum goes straight to its place.
      XDC_TRY_ASSIGN(const WireTensor room, part.codec(site).kind == CodecKind::none ? Result<WireTensor>(plain(part.range(), slice))
                                                                                     : inbox(site, part.codec(site), part.range()));
      received.push_back(receive(site, part.owner(), {call.round, Phase::all_gather, call.bucket, part.tag()}, room));
    } else if (part.others() > 0) {
      XDC_TRY_ASSIGN(const WireTensor wire, encode(site, call, part.encoding(Encoded::finished), slice));
      XDC_TRY(keep_decoded(site, wire, slice));
      send_to_all(part, wire, outgoing);
    }
  }
  XDC_TRY(start_sends(site, call, Phase::all_gather, outgoing, sends));
  size_t next = 0;
  for (const auto& part : parts) {
    if (!part.mine()) {
      auto& transfer = received[next++];
      XDC_TRY_ASSIGN(part.sum(), await(site, transfer, call.deadline));
      XDC_TRY(keep_decoded(site, transfer.wire, part.slice(site, flat)));
    }
  }
  XDC_TRY(await_all(site, sends, call.deadline));
  return finish(site, call.deadline);
}

Status all_gather_sum(ExchangeSite& site, const ExchangeCall& call, Tensor flat, std::span<Reduction> reductions) {
  std::vector<Outgoing> outgoing;
  std::vector<Transfer> sends;
  std::vector<Transfer> received;
  const auto parts = parts_of(reductions);
  for (const auto& part : parts) {
    if (part.others() == 0) {
      continue;
    }
    XDC_TRY_ASSIGN(WireTensor wire, encode(site, call, part.encoding(Encoded::contribution), part.slice(site, flat)));
    if (wire.codec.kind == CodecKind::none) {
      // The sum will stand where the contribution stands, maybe while that is still on its way.
      XDC_TRY_ASSIGN(wire, inbox(site, {}, part.range()));
      XDC_TRY_ASSIGN(const Tensor staged, decoded(site, wire));
      copy(site, part.range(), staged, part.slice(site, flat));
    }
    XDC_TRY(keep_decoded(site, wire, part.slice(site, flat)));
    XDC_TRY(expect_from_all(site, call, Phase::contribution, part, received));
    send_to_all(part, wire, outgoing);
  }
  XDC_TRY(start_sends(site, call, Phase::contribution, outgoing, sends));
  std::span<Transfer> left = received;
  for (const auto& part : parts) {
    XDC_TRY(add_received(site, call, part, flat, left));
  }
  XDC_TRY(await_all(site, sends, call.deadline));
  return finish(site, call.deadline);
}

}  // namespace xdc
