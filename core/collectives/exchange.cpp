#include "core/collectives/exchange.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace xdc {
namespace {

// Fresh chunks are at least this large, so that many small takes share one.
constexpr int64_t kLeastChunk = 1 << 16;
constexpr int64_t kAlignment = 64;
static_assert(kBlock == kCodecBlock);  // every piece begins where a codec's block does

const char* phase_name(Phase phase) {
  switch (phase) {
    case Phase::reduce_scatter:
      return "reduce-scatter";
    case Phase::all_gather:
      return "all-gather";
    case Phase::contribution:
      return "contribution";
    case Phase::push:
      return "push";
    case Phase::pull:
      return "pull";
    case Phase::vote:
      return "vote";
    case Phase::verdict:
      return "verdict";
    case Phase::snapshot:
      return "snapshot";
  }
  return "unknown";
}

uint64_t pack(const MessageTag& tag) {
  return static_cast<uint64_t>(tag.phase) << 56 | static_cast<uint64_t>(tag.bucket & 0xFFFFFF) << 32 | static_cast<uint32_t>(tag.part);
}

std::string describe_tag(uint64_t round, uint64_t packed) {
  return fmt::format("{} of round {}, bucket {}, part {}", phase_name(static_cast<Phase>(packed >> 56)), round, packed >> 32 & 0xFFFFFF,
                     packed & 0xFFFFFFFF);
}

}  // namespace

Status AgreedSum::meet(const std::optional<ControlSum>& sum) {
  if (sum && value_ && *sum != *value_) {
    return Error{ErrorCode::failed,
                 fmt::format("two pieces of one round were summed over different contributions: one stands for {} samples, another for {}",
                             value_->samples, sum->samples)};
  }
  value_ = sum ? sum : value_;
  return ok_status();
}

ControlWords to_control(const MessageTag& tag, ControlSum sum) {
  return {{static_cast<uint64_t>(tag.round), pack(tag), static_cast<uint64_t>(sum.samples), static_cast<uint64_t>(sum.stop_votes)}};
}

Result<ControlSum> from_control(const ControlWords& words, const MessageTag& due) {
  if (words.word[0] != static_cast<uint64_t>(due.round) || words.word[1] != pack(due)) {
    return Error{ErrorCode::failed,
                 fmt::format("the {} came where the {} was due: the two sides do not take the same steps in the same order",
                             describe_tag(words.word[0], words.word[1]), describe_tag(static_cast<uint64_t>(due.round), pack(due)))};
  }
  return ControlSum{static_cast<int64_t>(words.word[2]), static_cast<int64_t>(words.word[3])};
}

Result<Bytes> Scratch::take(int64_t bytes) {
  const auto size = static_cast<size_t>((bytes + kAlignment - 1) / kAlignment * kAlignment);
  while (chunk_ < chunks_.size() && chunks_[chunk_]->bytes().size - used_ < size) {
    ++chunk_;
    used_ = 0;
  }
  if (chunk_ == chunks_.size()) {
    XDC_TRY_ASSIGN(auto chunk, device_.allocate(Space::device, std::max<size_t>(size, kLeastChunk)));
    chunks_.push_back(std::move(chunk));
    used_ = 0;
  }
  const Bytes taken = chunks_[chunk_]->bytes().slice(used_, static_cast<size_t>(bytes));
  used_ += size;
  return taken;
}

void Scratch::reset() {
  chunk_ = 0;
  used_ = 0;
}

Result<WireTensor> encode(ExchangeSite& site, const ExchangeCall& call, const Encoding& encoding, Tensor slice) {
  const CodecSpec& codec = site.codec(encoding.tier);
  if (codec.kind == CodecKind::none) {
    return plain(encoding.range, slice);
  }
  EncodeArgs args;
  args.codec = codec;
  args.x = slice;
  XDC_TRY_ASSIGN(const WireTensor wire, inbox(site, codec, encoding.range));
  args.wire = wire.bytes;
  const Range elements = site.geometry.real(encoding.range);
  if (codec.error_feedback && elements.count > 0) {
    args.residual_in = site.coding.before.of(encoding.tier, encoding.what, elements);
    args.residual_out = site.coding.after.of(encoding.tier, encoding.what, elements);
  }
  args.rounding = {site.coding.seed,   call.round,
                   site.coding.member, static_cast<uint32_t>(encoding.hop),
                   encoding.tier,      encoding.what == Encoded::finished};
  args.first_element = elements.begin;
  site.device.charge(site.stream, encode_cost(codec, encoding.range.count));
  site.device.kernels().encode(site.stream, args);
  return wire;
}

Result<WireTensor> inbox(ExchangeSite& site, const CodecSpec& codec, Range range) {
  XDC_TRY_ASSIGN(const Bytes room, site.scratch.take(encoded_bytes(codec, site.geometry.real(range).count)));
  return WireTensor{range, codec, room};
}

Result<Tensor> decoded(ExchangeSite& site, const WireTensor& wire) {
  const int64_t n = site.geometry.real(wire.range).count;
  if (wire.codec.kind == CodecKind::none) {
    return Tensor::flat(wire.bytes, DType::f32, n);
  }
  XDC_TRY_ASSIGN(const Bytes room, site.scratch.take(n * 4));
  const Tensor slice = Tensor::flat(room, DType::f32, n);
  XDC_TRY(keep_decoded(site, wire, slice));
  return slice;
}

Status keep_decoded(ExchangeSite& site, const WireTensor& wire, Tensor slice) {
  if (wire.codec.kind == CodecKind::none) {
    return ok_status();
  }
  site.device.charge(site.stream, decode_cost(wire.codec, wire.range.count));
  return site.device.kernels().decode(site.stream, wire.codec, wire.bytes, slice);
}

void add(ExchangeSite& site, Range range, Tensor acc, Tensor slice) {
  const auto n = static_cast<double>(range.count);
  site.device.charge(site.stream, {n, 12 * n});
  site.device.kernels().add(site.stream, acc, slice);
}

void copy(ExchangeSite& site, Range range, Tensor to, Tensor from) {
  site.device.charge(site.stream, {0, 8 * static_cast<double>(range.count)});
  site.device.copy(site.stream, to.bytes, from.bytes);
}

Status finish(ExchangeSite& site, Deadline deadline) { return site.device.wait(site.device.record(site.stream), deadline); }

Transfer& Transfer::operator=(Transfer&& other) {
  XDC_CHECK(work == nullptr);
  communicator = other.communicator;
  work = std::move(other.work);
  peer = other.peer;
  sending = other.sending;
  tag = other.tag;
  control = std::move(other.control);
  wire = other.wire;
  return *this;
}

Transfer::~Transfer() {
  if (work != nullptr) {
    communicator->abort({ErrorCode::aborted, "the exchange was given up before all its messages had passed"});
  }
}

Transfer send(ExchangeSite& site, Rank to, const MessageTag& tag, ControlSum sum, const WireTensor& wire) {
  Transfer transfer;
  transfer.communicator = &site.communicator;
  transfer.peer = to;
  transfer.sending = true;
  transfer.tag = tag;
  transfer.wire = wire;
  const WireSize size{encoded_bytes(wire.codec, wire.range.count), wire.range.count > 0 ? Traffic::payload : Traffic::control};
  transfer.work = site.communicator.isend(to, to_control(tag, sum), wire.bytes, size);
  return transfer;
}

Transfer receive(ExchangeSite& site, Rank from, const MessageTag& tag, const WireTensor& wire) {
  Transfer transfer;
  transfer.communicator = &site.communicator;
  transfer.peer = from;
  transfer.tag = tag;
  transfer.control = std::make_unique<ControlWords>();
  transfer.wire = wire;
  transfer.work = site.communicator.irecv(from, transfer.control.get(), wire.bytes);
  return transfer;
}

Result<ControlSum> await(ExchangeSite& site, Transfer& transfer, Deadline deadline) {
  Work* const work[] = {transfer.work.get()};
  const auto waited = site.communicator.wait_any(work, deadline);
  const auto context = [&] {
    return fmt::format("round {}, bucket {}, part {}: {} {} ({})", transfer.tag.round, transfer.tag.bucket, transfer.tag.part,
                       transfer.sending ? "sending to" : "waiting for", site.describe(transfer.peer), phase_name(transfer.tag.phase));
  };
  // Whoever called gives the exchange up and drops its other works, which only an aborted communicator lets go of.
  const auto give_up = [&](const Error& error) {
    auto with_place = with_context(error, context());
    site.communicator.abort(with_place);
    return with_place;
  };
  if (!waited.ok()) {
    return give_up(waited.error());
  }
  transfer.work.reset();
  if (transfer.sending) {
    return ControlSum{};
  }
  auto sum = from_control(*transfer.control, transfer.tag);
  if (!sum.ok()) {
    return give_up(sum.error());
  }
  return sum;
}

Status await_all(ExchangeSite& site, std::vector<Transfer>& transfers, Deadline deadline) {
  for (auto& transfer : transfers) {
    if (transfer.work != nullptr) {
      XDC_TRY_ASSIGN(const ControlSum ignored, await(site, transfer, deadline));
      static_cast<void>(ignored);
    }
  }
  return ok_status();
}

}  // namespace xdc
