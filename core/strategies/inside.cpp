#include "core/strategies/inside.hpp"

namespace xdc {

Status InsideExchange::connect(const View& everyone, const std::string& purpose, Deadline deadline) {
  if (hierarchy_.local().size() == 1) {
    return ok_status();
  }
  // A purpose names one set of members: every datacenter has its own.
  const auto& here = plan_.cluster.datacenters[static_cast<size_t>(hierarchy_.datacenter())];
  auto native = env_.fabric.native_collectives({everyone.epoch, hierarchy_.local().ranks}, purpose + " " + here, deadline);
  if (native.ok()) {
    native_ = std::move(native).value();
    XDC_TRY_ASSIGN(counts_, env_.device.allocate(Space::pinned, 2 * sizeof(int64_t)));
  } else if (native.error().code != ErrorCode::unsupported) {
    return native.error();
  }
  return ok_status();
}

void InsideExchange::abort(const Error& error) {
  if (native_ != nullptr) {
    native_->abort(error);
  }
}

// The hardware adds what it is given: what the lan codec would lose is lost before.
// Own parts hold finished sums, the others contributions.
Status InsideExchange::round_trip(ExchangeSite& site, const ExchangeCall& call, Tensor flat, const Reduction& inside, Encoded what) {
  for (size_t p = 0; p < inside.parts.size(); ++p) {
    if ((inside.owner[p] == inside.group.me) == (what == Encoded::finished) && inside.parts[p].count > 0) {
      const Tensor slice = site.geometry.slice(flat, inside.parts[p]);
      XDC_TRY_ASSIGN(const WireTensor wire, encode(site, call, {inside.tier, what, inside.parts[p], 0}, slice));
      XDC_TRY(keep_decoded(site, wire, slice));
    }
  }
  return ok_status();
}

// The parts of a bucket, within its slice: the other buckets may not be finished yet, and are no part of it.
std::vector<Part> InsideExchange::native_parts(const ExchangeSite& site, const ExchangeCall& call, const Reduction& inside) const {
  const int64_t begin = site.geometry.real(bucket_of(call)).begin;
  std::vector<Part> parts;
  for (size_t p = 0; p < inside.parts.size(); ++p) {
    const Range elements = site.geometry.real(inside.parts[p]);
    parts.push_back({elements.begin - begin, elements.count, inside.owner[p], encoded_bytes(site.codec(Tier::lan), inside.parts[p].count)});
  }
  return parts;
}

std::span<int64_t> InsideExchange::counts() { return {reinterpret_cast<int64_t*>(counts_->bytes().host().data()), 2}; }
Tensor InsideExchange::counts_tensor() { return Tensor::flat(counts_->bytes(), DType::i64, 2); }

// The hardware's collectives carry no control words: the sums are reduced by themselves, once a round, and kept.
Status InsideExchange::reduce_scatter(ExchangeSite& site, const ExchangeCall& call, Tensor flat, ControlSum own, Reduction& inside) {
  if (native_ == nullptr) {
    return direct_reduce_scatter(site, call, flat, {&inside, 1});
  }
  if (call.bucket == 0) {
    counts()[0] = own.samples;
    counts()[1] = own.stop_votes;
    XDC_TRY(native_->all_reduce(counts_tensor(), 2 * sizeof(int64_t), call.deadline));
    datacenter_sum_ = {counts()[0], counts()[1]};
  }
  XDC_TRY(round_trip(site, call, flat, inside, Encoded::contribution));
  XDC_TRY(finish(site, call.deadline));
  XDC_TRY(native_->reduce_scatter(site.geometry.slice(flat, bucket_of(call)), native_parts(site, call, inside), call.deadline));
  for (size_t p = 0; p < inside.parts.size(); ++p) {
    inside.sums[p].reset();
    if (inside.owner[p] == inside.group.me && inside.parts[p].count > 0) {
      inside.sums[p] = datacenter_sum_;
    }
  }
  return ok_status();
}

Status InsideExchange::all_gather(ExchangeSite& site, const ExchangeCall& call, Tensor flat, Reduction& inside) {
  if (native_ == nullptr) {
    if (hierarchy_.local().size() == 1 && hierarchy_.gathers_inside()) {
      XDC_TRY(round_trip(site, call, flat, inside, Encoded::finished));
      XDC_TRY(finish(site, call.deadline));
    }
    return direct_all_gather(site, call, flat, {&inside, 1});
  }
  XDC_TRY(round_trip(site, call, flat, inside, Encoded::finished));
  XDC_TRY(finish(site, call.deadline));
  XDC_TRY(native_->all_gather(site.geometry.slice(flat, bucket_of(call)), native_parts(site, call, inside), call.deadline));
  if (call.bucket == 0) {
    // Lane 0 always has elements, and its rank the sums over all datacenters.
    const auto first = inside.sums[0].value_or(ControlSum{});
    counts()[0] = first.samples;
    counts()[1] = first.stop_votes;
    XDC_TRY(native_->broadcast(counts_tensor(), inside.owner[0], 2 * sizeof(int64_t), call.deadline));
    total_ = {counts()[0], counts()[1]};
  }
  for (auto& sum : inside.sums) {
    if (!sum) {
      sum = total_;
    }
  }
  return ok_status();
}

}  // namespace xdc
