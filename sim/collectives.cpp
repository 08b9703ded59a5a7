#include "sim/collectives.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "core/base/quantity.hpp"
#include "core/collectives/blocks.hpp"
#include "sim/ring_time.hpp"

namespace xdc {
namespace {

const char* name_of(CollectiveGroup::Kind kind) {
  switch (kind) {
    case CollectiveGroup::Kind::all_reduce:
      return "all_reduce";
    case CollectiveGroup::Kind::reduce_scatter:
      return "reduce_scatter";
    case CollectiveGroup::Kind::all_gather:
      return "all_gather";
    case CollectiveGroup::Kind::broadcast:
      return "broadcast";
  }
  return "?";
}

bool same(const CollectiveGroup::Call& a, const CollectiveGroup::Call& b) {
  return a.kind == b.kind && a.elements == b.elements && a.dtype == b.dtype && a.wire_bytes == b.wire_bytes && a.parts == b.parts;
}

}  // namespace

CollectiveGroup::CollectiveGroup(Agenda& agenda, const Platform& platform, const Cluster& cluster, const Folding& folding, View view,
                                 std::string purpose)
    : agenda_(agenda),
      cluster_(cluster),
      folding_(folding),
      view_(std::move(view)),
      purpose_(std::move(purpose)),
      tensors_(view_.members.size()),
      waiters_(view_.members.size()) {
  for (size_t i = 0; i < view_.members.size() && view_.members.size() > 1; ++i) {
    lines_.push_back(platform.local_line(view_.members[i], view_.members[(i + 1) % view_.members.size()]));
  }
}

std::string CollectiveGroup::describe() const { return fmt::format("native collectives \"{}\" of view {}", purpose_, view_.epoch); }

std::string CollectiveGroup::describe_missing() const {
  std::string text;
  for (size_t rank = 0; rank < tensors_.size(); ++rank) {
    if (!tensors_[rank] && stands_for(rank) > 0) {
      text += (text.empty() ? "" : ", ") + name_of(static_cast<Rank>(rank));
    }
  }
  const bool all_here = text.empty();
  return fmt::format("{} {} ({})", all_here ? "the end of" : text + " to join", xdc::name_of(call_.kind), describe());
}

int64_t CollectiveGroup::enter(Rank rank, const Call& call, Tensor tensor, WaitPoint& waiter, SimDevice& device) {
  waiters_[static_cast<size_t>(rank)] = &waiter;
  if (left_) {
    return finished_ + 1;  // never reached; the news are on the way
  }
  if (present_ == 0) {
    call_ = call;
  }
  XDC_CHECK_MSG(same(call, call_),
                fmt::format("{} calls {} of {} elements where others call {} of {} elements in {}", name_of(rank), xdc::name_of(call.kind),
                            call.elements, xdc::name_of(call_.kind), call_.elements, describe()));
  tensors_[static_cast<size_t>(rank)] = tensor;
  present_ += stands_for(static_cast<size_t>(rank));
  if (present_ == size()) {
    compute(device);
    agenda_.at(Agenda::now() + call_time(), [this] { complete(); });
  }
  return finished_ + 1;
}

void CollectiveGroup::complete() {
  if (left_) {
    return;
  }
  ++finished_;
  present_ = 0;
  std::fill(tensors_.begin(), tensors_.end(), std::nullopt);
  wake_all();
}

void CollectiveGroup::wake_all() {
  for (auto* waiter : waiters_) {
    if (waiter != nullptr) waiter->wake();
  }
}

void CollectiveGroup::leave(Rank rank, const std::string& why) {
  waiters_[static_cast<size_t>(rank)] = nullptr;
  if (left_) {
    return;
  }
  left_ = true;
  Duration travel{};
  for (const auto& line : lines_) travel = std::max(travel, line.latency);
  agenda_.at(Agenda::now() + travel,
             [this, error = Error{ErrorCode::peer_lost, fmt::format("{} left {}: {}", name_of(rank), describe(), why)}] {
               news_ = error;
               wake_all();
             });
}

// What each rank's parts are charged as; an all_reduce deals its own, each with its share of the whole.
std::vector<double> CollectiveGroup::part_bytes() const {
  const double per_element = call_.elements == 0 ? 0 : static_cast<double>(call_.wire_bytes) / static_cast<double>(call_.elements);
  std::vector<double> bytes(static_cast<size_t>(size()));
  for (const auto& part : call_.parts) {
    bytes[static_cast<size_t>(part.owner)] +=
        call_.kind == Kind::all_reduce ? static_cast<double>(part.count) * per_element : static_cast<double>(part.wire_bytes);
  }
  return bytes;
}

Duration CollectiveGroup::call_time() const {
  if (call_.kind == Kind::broadcast) {
    return ring_broadcast_time(lines_, static_cast<double>(call_.wire_bytes));
  }
  const auto phase = ring_phase_time(lines_, part_bytes());
  return call_.kind == Kind::all_reduce ? phase * 2 : phase;
}

void CollectiveGroup::compute(SimDevice& device) {
  const bool phantom = std::any_of(tensors_.begin(), tensors_.end(), [](const auto& t) { return t && t->bytes.phantom(); });
  if (phantom || call_.elements == 0) {
    return;
  }
  for (const auto& part : call_.parts) {
    if (part.count == 0) {
      continue;
    }
    if (call_.kind == Kind::all_reduce || call_.kind == Kind::reduce_scatter) {
      sum(device, part, call_.kind == Kind::all_reduce);
    } else {
      spread(part);
    }
  }
}

// In rank order, whoever came last.
void CollectiveGroup::sum(SimDevice& device, const Part& part, bool everywhere) {
  const auto first = tensors_[0]->range(part.offset, part.count);
  std::vector<std::byte> memory(first.bytes.data, first.bytes.data + first.bytes.size);
  const auto total = Tensor::flat({Space::host, memory.data(), memory.size()}, call_.dtype, part.count);
  // Only counts are summed where members act for others, which is a phantom run.
  const auto times = [this](size_t rank) { return static_cast<int64_t>(stands_for(rank)); };
  if (call_.dtype == DType::i64) {
    auto* own = reinterpret_cast<int64_t*>(memory.data());
    for (int64_t i = 0; i < part.count; ++i) own[i] *= times(0);
  }
  for (size_t rank = 1; rank < tensors_.size(); ++rank) {
    if (!tensors_[rank]) continue;
    const auto summand = tensors_[rank]->range(part.offset, part.count);
    if (call_.dtype == DType::f32) {
      device.arithmetic().add({}, total, summand);
    } else {
      auto* to = reinterpret_cast<int64_t*>(memory.data());
      const auto* from = reinterpret_cast<const int64_t*>(summand.bytes.data);
      for (int64_t i = 0; i < part.count; ++i) to[i] += from[i] * times(rank);
    }
  }
  for (size_t rank = 0; rank < tensors_.size(); ++rank) {
    if (tensors_[rank] && (everywhere || static_cast<Rank>(rank) == part.owner)) {
      std::memcpy(tensors_[rank]->range(part.offset, part.count).bytes.data, memory.data(), memory.size());
    }
  }
}

void CollectiveGroup::spread(const Part& part) {
  XDC_CHECK_MSG(tensors_[static_cast<size_t>(part.owner)], "contents would come from a rank that another one acts for");
  const auto from = tensors_[static_cast<size_t>(part.owner)]->range(part.offset, part.count).bytes;
  for (size_t rank = 0; rank < tensors_.size(); ++rank) {
    if (tensors_[rank] && static_cast<Rank>(rank) != part.owner) {
      std::memcpy(tensors_[rank]->range(part.offset, part.count).bytes.data, from.data, from.size);
    }
  }
}

SimCollectives::~SimCollectives() { group_.leave(rank_, "it has closed them"); }

Status SimCollectives::all_reduce(Tensor inout, int64_t wire_bytes, Deadline deadline) {
  // Cut as core's own exchanges are, so that both charge the same parts.
  std::vector<Part> parts;
  const auto dealt = deal({0, inout.elements()}, group_.size());
  for (size_t i = 0; i < dealt.size(); ++i) {
    parts.push_back({dealt[i].begin, dealt[i].count, static_cast<Rank>(i)});
  }
  return call(CollectiveGroup::Kind::all_reduce, inout, std::move(parts), wire_bytes, deadline);
}

Status SimCollectives::reduce_scatter(Tensor inout, std::span<const Part> parts, Deadline deadline) {
  return call(CollectiveGroup::Kind::reduce_scatter, inout, {parts.begin(), parts.end()}, 0, deadline);
}

Status SimCollectives::all_gather(Tensor inout, std::span<const Part> parts, Deadline deadline) {
  return call(CollectiveGroup::Kind::all_gather, inout, {parts.begin(), parts.end()}, 0, deadline);
}

Status SimCollectives::broadcast(Tensor inout, Rank root, int64_t wire_bytes, Deadline deadline) {
  return call(CollectiveGroup::Kind::broadcast, inout, {{0, inout.elements(), root}}, wire_bytes, deadline);
}

Status SimCollectives::call(CollectiveGroup::Kind kind, Tensor inout, std::vector<Part> parts, int64_t wire_bytes, Deadline deadline) {
  if (broken_) {
    return *broken_;
  }
  XDC_CHECK_MSG((inout.dtype == DType::f32 && inout.bytes.space == Space::device) ||
                    (inout.dtype == DType::i64 && inout.bytes.space == Space::pinned),
                "native collectives take f32 in device memory or i64 in pinned memory");
  for (const auto& part : parts) {
    XDC_CHECK_MSG(part.owner >= 0 && part.owner < group_.size(), "a part is owned by a rank that is none");
    XDC_CHECK_MSG(part.offset >= 0 && part.count >= 0 && part.offset + part.count <= inout.elements(), "a part reaches out of its tensor");
  }
  if (group_.news()) {
    break_with(*group_.news());
    return *broken_;
  }
  device_.check_finished(inout.bytes, "given to a collective");
  const auto began = Agenda::now();
  const auto number = group_.enter(rank_, {kind, inout.elements(), inout.dtype, std::move(parts), wire_bytes}, inout, waiter_, device_);
  const auto done = [&] { return group_.finished() >= number; };
  const bool woke = waiter_.wait(
      deadline, [&] { return done() || broken_ || group_.news(); }, [&] { return group_.describe_missing(); });
  if (!broken_ && done()) {
    return ok_status();
  }
  if (!broken_) {
    break_with(woke ? *group_.news()
                    : Error{ErrorCode::timeout, fmt::format("{} waited {} for {}", group_.name_of(rank_),
                                                            format_duration(Agenda::now() - began), group_.describe_missing())});
  }
  return *broken_;
}

void SimCollectives::abort(Error error) {
  break_with(std::move(error));
  waiter_.wake();  // last: its lane may destroy this before the call returns
}

void SimCollectives::break_with(Error error) {
  if (!broken_) {
    broken_ = std::move(error);
    group_.leave(rank_, "it gave up: " + broken_->message);
  }
}

}  // namespace xdc
