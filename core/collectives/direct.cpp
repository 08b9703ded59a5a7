#include "core/collectives/direct.hpp"

namespace xdc {
namespace {

struct Outgoing {
  Rank to = 0;
  int part = 0;
  ControlSum sum;
  Bytes payload;
};

// What has been encoded may travel once the stream has come to it: one wait for all of it.
Status start_sends(ExchangeSite& site, const ExchangeCall& call, Phase phase, const std::vector<Outgoing>& outgoing,
                   std::vector<Transfer>& sends) {
  if (outgoing.empty()) {
    return ok_status();
  }
  XDC_TRY(finish(site, call.deadline));
  for (const auto& message : outgoing) {
    sends.push_back(send(site, message.to, {call.round, phase, call.bucket, message.part}, message.sum, message.payload));
  }
  return ok_status();
}

Result<Transfer> expect(ExchangeSite& site, const ExchangeCall& call, Phase phase, Rank from, int part, const CodecSpec& codec, int64_t n) {
  XDC_TRY_ASSIGN(const Bytes room, inbox(site, codec, n));
  return receive(site, from, {call.round, phase, call.bucket, part}, room, n);
}

// acc = contributions in group order; `received` holds the others', in group order. `own` is this rank's value and the result's place.
Result<ControlSum> add_in_order(ExchangeSite& site, const ExchangeCall& call, const Reduction& reduction, std::span<Transfer> received,
                                Tensor own, ControlSum own_sum) {
  ControlSum total;
  Tensor acc;
  size_t next = 0;
  for (int i = 0; i < reduction.group.size(); ++i) {
    Tensor term = own;
    ControlSum sum = own_sum;
    if (i != reduction.group.me) {
      auto& transfer = received[next++];
      XDC_TRY_ASSIGN(sum, await(site, transfer, call.deadline));
      XDC_TRY_ASSIGN(term, decoded(site, reduction.codec, transfer.bytes, transfer.elements));
    }
    total = total + sum;
    if (i == 0) {
      acc = term;
    } else {
      add(site, acc, term);
    }
  }
  if (reduction.group.me != 0) {
    copy(site, own, acc);
  }
  return total;
}

}  // namespace

Status direct_reduce_scatter(ExchangeSite& site, const ExchangeCall& call, Tensor flat, std::span<Reduction> reductions) {
  std::vector<Outgoing> outgoing;
  std::vector<Transfer> sends;
  std::vector<Transfer> received;
  for (auto& reduction : reductions) {
    for (size_t p = 0; p < reduction.parts.size(); ++p) {
      const Range part = reduction.parts[p];
      if (part.count == 0) {
        reduction.sums[p].reset();
        continue;
      }
      if (reduction.owner[p] == reduction.group.me) {
        for (int i = 0; i < reduction.group.size(); ++i) {
          if (i != reduction.group.me) {
            XDC_TRY_ASSIGN(auto transfer, expect(site, call, Phase::reduce_scatter, reduction.group.ranks[static_cast<size_t>(i)],
                                                 static_cast<int>(p), reduction.codec, part.count));
            received.push_back(std::move(transfer));
          }
        }
      } else {
        XDC_TRY_ASSIGN(const Bytes wire, encode(site, reduction.codec, flat.range(part.begin, part.count)));
        outgoing.push_back({reduction.group.ranks[static_cast<size_t>(reduction.owner[p])], static_cast<int>(p), *reduction.sums[p], wire});
        reduction.sums[p].reset();
      }
    }
  }
  XDC_TRY(start_sends(site, call, Phase::reduce_scatter, outgoing, sends));
  size_t next = 0;
  for (auto& reduction : reductions) {
    for (size_t p = 0; p < reduction.parts.size(); ++p) {
      const Range part = reduction.parts[p];
      if (part.count == 0 || reduction.owner[p] != reduction.group.me) {
        continue;
      }
      const auto others = static_cast<size_t>(reduction.group.size() - 1);
      XDC_TRY_ASSIGN(reduction.sums[p], add_in_order(site, call, reduction, std::span(received).subspan(next, others),
                                                     flat.range(part.begin, part.count), *reduction.sums[p]));
      next += others;
    }
  }
  XDC_TRY(await_all(site, sends, call.deadline));
  return finish(site, call.deadline);
}

Status direct_all_gather(ExchangeSite& site, const ExchangeCall& call, Tensor flat, std::span<Reduction> reductions) {
  std::vector<Outgoing> outgoing;
  std::vector<Transfer> sends;
  std::vector<Transfer> received;
  for (auto& reduction : reductions) {
    for (size_t p = 0; p < reduction.parts.size(); ++p) {
      const Range part = reduction.parts[p];
      if (part.count == 0 || reduction.group.size() == 1) {
        continue;
      }
      const Tensor values = flat.range(part.begin, part.count);
      if (reduction.owner[p] != reduction.group.me) {
        const Rank owner = reduction.group.ranks[static_cast<size_t>(reduction.owner[p])];
        // Without a codec the sum goes straight to its place.
        XDC_TRY_ASSIGN(const Bytes room,
                       reduction.codec.kind == CodecKind::none ? Result<Bytes>(values.bytes) : inbox(site, reduction.codec, part.count));
        received.push_back(receive(site, owner, {call.round, Phase::all_gather, call.bucket, static_cast<int>(p)}, room, part.count));
        continue;
      }
      XDC_TRY_ASSIGN(const Bytes wire, encode(site, reduction.codec, values));
      keep_decoded(site, reduction.codec, wire, values);
      for (int i = 0; i < reduction.group.size(); ++i) {
        if (i != reduction.group.me) {
          outgoing.push_back({reduction.group.ranks[static_cast<size_t>(i)], static_cast<int>(p), *reduction.sums[p], wire});
        }
      }
    }
  }
  XDC_TRY(start_sends(site, call, Phase::all_gather, outgoing, sends));
  size_t next = 0;
  for (auto& reduction : reductions) {
    for (size_t p = 0; p < reduction.parts.size(); ++p) {
      const Range part = reduction.parts[p];
      if (part.count == 0 || reduction.owner[p] == reduction.group.me) {
        continue;
      }
      auto& transfer = received[next++];
      XDC_TRY_ASSIGN(reduction.sums[p], await(site, transfer, call.deadline));
      keep_decoded(site, reduction.codec, transfer.bytes, flat.range(part.begin, part.count));
    }
  }
  XDC_TRY(await_all(site, sends, call.deadline));
  return finish(site, call.deadline);
}

Status all_gather_sum(ExchangeSite& site, const ExchangeCall& call, Tensor flat, std::span<Reduction> reductions) {
  std::vector<Outgoing> outgoing;
  std::vector<Transfer> sends;
  std::vector<Transfer> received;
  for (auto& reduction : reductions) {
    for (size_t p = 0; p < reduction.parts.size(); ++p) {
      const Range part = reduction.parts[p];
      if (part.count == 0) {
        reduction.sums[p].reset();
      }
      if (part.count == 0 || reduction.group.size() == 1) {
        continue;
      }
      XDC_TRY_ASSIGN(Bytes wire, encode(site, reduction.codec, flat.range(part.begin, part.count)));
      if (reduction.codec.kind == CodecKind::none) {
        // The sum will stand where the contribution stands, maybe while that is still on its way.
        XDC_TRY_ASSIGN(const Bytes staged, site.scratch.take(static_cast<int64_t>(wire.size)));
        copy(site, Tensor::flat(staged, DType::f32, part.count), Tensor::flat(wire, DType::f32, part.count));
        wire = staged;
      }
      keep_decoded(site, reduction.codec, wire, flat.range(part.begin, part.count));
      for (int i = 0; i < reduction.group.size(); ++i) {
        if (i != reduction.group.me) {
          const Rank peer = reduction.group.ranks[static_cast<size_t>(i)];
          XDC_TRY_ASSIGN(auto transfer, expect(site, call, Phase::contribution, peer, static_cast<int>(p), reduction.codec, part.count));
          received.push_back(std::move(transfer));
          outgoing.push_back({peer, static_cast<int>(p), *reduction.sums[p], wire});
        }
      }
    }
  }
  XDC_TRY(start_sends(site, call, Phase::contribution, outgoing, sends));
  size_t next = 0;
  for (auto& reduction : reductions) {
    for (size_t p = 0; p < reduction.parts.size(); ++p) {
      const Range part = reduction.parts[p];
      if (part.count == 0 || reduction.group.size() == 1) {
        continue;
      }
      const auto others = static_cast<size_t>(reduction.group.size() - 1);
      XDC_TRY_ASSIGN(reduction.sums[p], add_in_order(site, call, reduction, std::span(received).subspan(next, others),
                                                     flat.range(part.begin, part.count), *reduction.sums[p]));
      next += others;
    }
  }
  XDC_TRY(await_all(site, sends, call.deadline));
  return finish(site, call.deadline);
}

}  // namespace xdc
