#include "exec/nccl/nccl_collectives.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "core/base/quantity.hpp"
#include "exec/cuda/poll.hpp"

namespace xdc {
namespace {

ncclDataType_t nccl_type(DType dtype) {
  XDC_CHECK_MSG(dtype == DType::f32 || dtype == DType::i64, "collectives take f32 and i64");
  return dtype == DType::f32 ? ncclFloat32 : ncclInt64;
}

bool accepted(ncclResult_t code) { return code == ncclSuccess || code == ncclInProgress; }

Error nccl_error(ncclResult_t code, ncclComm_t comm, std::string_view what) {
  const char* detail = ncclGetLastError(comm);
  const bool more = detail != nullptr && *detail != '\0';
  return {error_code_of(code), fmt::format("{}: {}{}{}", what, ncclGetErrorString(code), more ? ": " : "", more ? detail : "")};
}

Result<std::string> make_unique_id() {
  ncclUniqueId id;
  const ncclResult_t made = ncclGetUniqueId(&id);
  if (made != ncclSuccess) {
    return nccl_error(made, nullptr, "making a communicator id");
  }
  return std::string(id.internal, sizeof(id.internal));
}

}  // namespace

ErrorCode error_code_of(ncclResult_t code) { return code == ncclRemoteError ? ErrorCode::peer_lost : ErrorCode::failed; }

NcclCollectives::NcclCollectives(CudaDeviceBase& device, std::string name, int size)
    : device_(device), name_(std::move(name)), size_(size), stream_(device.make_stream("nccl")), native_(device.native_stream(stream_)) {}

Result<std::unique_ptr<Collectives>> NcclCollectives::connect(CudaDeviceBase& device, Store& store, const View& view,
                                                              std::string_view purpose, MemberId self, const DescribeMember& describe,
                                                              Deadline deadline) {
  XDC_TRY(device.make_current());
  NcclRendezvous rendezvous(store, view, purpose, self, describe);
  XDC_TRY_ASSIGN(const std::string bytes, rendezvous.exchange(make_unique_id, deadline));
  ncclUniqueId id{};
  if (bytes.size() != sizeof(id.internal)) {
    return Error{ErrorCode::failed, fmt::format("{}: a communicator id of {} bytes instead of {}: do all members run the same NCCL?",
                                                describe(self), bytes.size(), sizeof(id.internal))};
  }
  std::memcpy(id.internal, bytes.data(), sizeof(id.internal));

  auto name = fmt::format("{}: NCCL '{}' (view {}, {} ranks)", describe(self), purpose, view.epoch, view.size());
  std::unique_ptr<NcclCollectives> made(new NcclCollectives(device, std::move(name), view.size()));
  XDC_TRY(device.health());
  XDC_TRY(made->start(id, view.rank_of(self)));
  const Status connected = poll_until(device.clock(), deadline, [&] { return made->settled(); });
  if (connected.ok()) {
    return std::unique_ptr<Collectives>(std::move(made));
  }
  Error error = with_context(connected.error(), "connecting");
  if (error.code == ErrorCode::timeout) {
    // The deadline is over; the store gets a moment of its own to say whom the user should look at.
    const std::string missing = rendezvous.missing(device.clock().now() + seconds(1));
    error.message += missing.empty() ? "; all members had come" : fmt::format("; not there: {}", missing);
  }
  return made->break_with(std::move(error));
}

Status NcclCollectives::start(const ncclUniqueId& id, Rank rank) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  std::unique_lock lock(mutex_);
  // Not into comm_: NCCL's own thread writes a second time, which may be after an abort() here.
  const ncclResult_t begun = ncclCommInitRankConfig(&from_nccl_, size_, id, rank, &config);
  comm_ = from_nccl_;
  if (accepted(begun)) {
    return ok_status();
  }
  Error error = nccl_error(begun, comm_, "connecting");
  lock.unlock();
  return break_with(std::move(error));
}

NcclCollectives::~NcclCollectives() {
  constexpr Duration kPatience = seconds(2);
  static_cast<void>(device_.make_current());
  {
    const std::lock_guard lock(mutex_);
    if (comm_ == nullptr) {
      return;
    }
    if (!accepted(ncclCommFinalize(comm_))) {
      ncclCommAbort(std::exchange(comm_, nullptr));
      return;
    }
  }
  // A peer that never comes to this point must not keep us: after a while the polite way is given up.
  const Status quiet = poll_until(device_.clock(), device_.clock().now() + kPatience, [this] { return settled(); });
  const std::lock_guard lock(mutex_);
  if (comm_ != nullptr) {
    quiet.ok() ? ncclCommDestroy(comm_) : ncclCommAbort(comm_);
    comm_ = nullptr;
  }
}

Error NcclCollectives::break_with(Error error) {
  const std::lock_guard lock(mutex_);
  if (first_error_.ok()) {
    first_error_ = with_context(std::move(error), name_);
  }
  if (comm_ != nullptr) {
    // Also ends the kernels that wait for a peer, so the stream is free again.
    static_cast<void>(device_.make_current());
    ncclCommAbort(std::exchange(comm_, nullptr));
  }
  return first_error_.error();
}

void NcclCollectives::abort(Error error) { static_cast<void>(break_with(std::move(error))); }

// Has NCCL done what it was told so far? (Connecting, or enqueueing: not yet the work on the GPU.)
Result<bool> NcclCollectives::settled() {
  const std::lock_guard lock(mutex_);
  XDC_TRY(first_error_);
  ncclResult_t state = ncclSuccess;
  const ncclResult_t asked = ncclCommGetAsyncError(comm_, &state);
  const ncclResult_t code = asked == ncclSuccess ? state : asked;
  if (!accepted(code)) {
    return nccl_error(code, comm_, "NCCL reports");
  }
  return code == ncclSuccess;
}

// Host tensors (counts) travel through device memory: NCCL promises nothing about other memory.
Result<std::byte*> NcclCollectives::staged(Tensor inout) {
  if (inout.bytes.space == Space::device) {
    return inout.bytes.data;
  }
  if (staging_ == nullptr || staging_->bytes().size < inout.bytes.size) {
    staging_.reset();
    XDC_TRY_ASSIGN(staging_, device_.allocate(Space::device, inout.bytes.size));
  }
  device_.copy(stream_, staging_->bytes().slice(0, inout.bytes.size), inout.bytes);
  return staging_->bytes().data;
}

Status NcclCollectives::enqueue_all(const Enqueue& enqueue, std::byte* at) {
  const std::lock_guard lock(mutex_);
  XDC_TRY(first_error_);
  // One group: NCCL sees all parts before it starts the first, and a refusal leaves nothing half enqueued.
  ncclResult_t code = ncclGroupStart();
  if (code == ncclSuccess) {
    const ncclResult_t enqueued = enqueue(at);
    const ncclResult_t ended = ncclGroupEnd();
    code = accepted(enqueued) ? ended : enqueued;
  }
  if (accepted(code)) {
    return ok_status();
  }
  return nccl_error(code, comm_, "enqueueing");
}

Status NcclCollectives::run(std::string_view what, Tensor inout, Deadline deadline, const Enqueue& enqueue) {
  {
    const std::lock_guard lock(mutex_);
    XDC_TRY(first_error_);
  }
  if (inout.elements() == 0) {
    return ok_status();
  }
  XDC_CHECK_MSG(!inout.bytes.phantom(), "a phantom on a real device");
  const auto context = fmt::format("{} of {}", what, format_bytes(static_cast<double>(inout.bytes.size)));
  const auto fail = [&](const Error& error) { return break_with(with_context(error, context)); };

  if (const Status current = device_.make_current(); !current.ok()) {
    return fail(current.error());
  }
  const auto at = staged(inout);
  if (!at.ok()) {
    return fail(at.error());
  }
  if (const Status enqueued = enqueue_all(enqueue, at.value()); !enqueued.ok()) {
    return fail(enqueued.error());
  }
  std::optional<Event> end;
  const Status done = poll_until(device_.clock(), deadline, [&]() -> Result<bool> {
    XDC_TRY_ASSIGN(const bool told, settled());
    if (!told) {
      return false;
    }
    if (!end.has_value()) {  // everything is on the stream now: what follows it comes after
      if (inout.bytes.space != Space::device) {
        device_.copy(stream_, inout.bytes, staging_->bytes().slice(0, inout.bytes.size));
      }
      end = device_.record(stream_);
    }
    return device_.finished(*end);
  });
  return done.ok() ? ok_status() : Status(fail(done.error()));
}

Status NcclCollectives::run_parts(std::string_view what, Tensor inout, std::span<const Part> parts, Deadline deadline,
                                  const std::function<ncclResult_t(std::byte* at, const Part&)>& one) {
  for (const auto& part : parts) {
    XDC_CHECK_MSG(part.offset >= 0 && part.count >= 0 && part.offset <= inout.elements() && part.count <= inout.elements() - part.offset,
                  "a part outside its tensor");
    XDC_CHECK_MSG(part.owner >= 0 && part.owner < size_, "a part of a rank that is not in the view");
  }
  const auto width = size_of(inout.dtype);
  return run(what, inout, deadline, [&](std::byte* at) {
    for (const auto& part : parts) {
      const ncclResult_t code = part.count == 0 ? ncclSuccess : one(at + static_cast<size_t>(part.offset) * width, part);
      if (!accepted(code)) {
        return code;
      }
    }
    return ncclSuccess;
  });
}

Status NcclCollectives::all_reduce(Tensor inout, int64_t /*wire_bytes*/, Deadline deadline) {
  return run("all_reduce", inout, deadline, [&](std::byte* at) {
    return ncclAllReduce(at, at, static_cast<size_t>(inout.elements()), nccl_type(inout.dtype), ncclSum, comm_, native_);
  });
}

// Parts may differ in size, which ncclReduceScatter cannot do: one ncclReduce a part, in one group.
Status NcclCollectives::reduce_scatter(Tensor inout, std::span<const Part> parts, Deadline deadline) {
  return run_parts("reduce_scatter", inout, parts, deadline, [&](std::byte* at, const Part& part) {
    return ncclReduce(at, at, static_cast<size_t>(part.count), nccl_type(inout.dtype), ncclSum, part.owner, comm_, native_);
  });
}

Status NcclCollectives::all_gather(Tensor inout, std::span<const Part> parts, Deadline deadline) {
  return run_parts("all_gather", inout, parts, deadline, [&](std::byte* at, const Part& part) {
    return ncclBroadcast(at, at, static_cast<size_t>(part.count), nccl_type(inout.dtype), part.owner, comm_, native_);
  });
}

Status NcclCollectives::broadcast(Tensor inout, Rank root, int64_t /*wire_bytes*/, Deadline deadline) {
  XDC_CHECK_MSG(root >= 0 && root < size_, "a root that is not in the view");
  return run("broadcast", inout, deadline, [&](std::byte* at) {
    return ncclBroadcast(at, at, static_cast<size_t>(inout.elements()), nccl_type(inout.dtype), root, comm_, native_);
  });
}

}  // namespace xdc
