// How do the GPUs of one datacenter add their gradients? NCCL, held to the seam's promises: deadlines, aborts, error codes.
#pragma once

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

#include "core/seam/fabric.hpp"
#include "exec/cuda/cuda_device.hpp"
#include "exec/nccl/rendezvous.hpp"

namespace xdc {

// NCCL never blocks us: the communicator is made with blocking = 0, what is enqueued is asked about, and a passed deadline,
// an error of NCCL's or another lane's abort() ends in ncclCommAbort, which also frees the peers from waiting for us.
//
// Requirement of every call: what the tensor holds is finished, as for Communicator::isend. Work runs on a stream of the
// communicator's own; when a call has returned, every stream sees its result.
class NcclCollectives final : public Collectives {
 public:
  // Every member of the view calls it with the same view and purpose; `device` and `store` outlive the object.
  // Errors: timeout, naming who has not come; peer_lost; failed, also when two members share one GPU.
  static Result<std::unique_ptr<Collectives>> connect(CudaDeviceBase& device, Store& store, const View& view, std::string_view purpose,
                                                      MemberId self, const DescribeMember& describe, Deadline deadline);
  ~NcclCollectives() override;
  NcclCollectives(const NcclCollectives&) = delete;
  NcclCollectives& operator=(const NcclCollectives&) = delete;

  Status all_reduce(Tensor inout, int64_t wire_bytes, Deadline deadline) override;
  Status reduce_scatter(Tensor inout, std::span<const Part> parts, Deadline deadline) override;
  Status all_gather(Tensor inout, std::span<const Part> parts, Deadline deadline) override;
  Status broadcast(Tensor inout, Rank root, int64_t wire_bytes, Deadline deadline) override;
  void abort(Error error) override;

 private:
  // Enqueues on the communicator's stream; `at` is the tensor's first byte in device memory.
  using Enqueue = std::function<ncclResult_t(std::byte* at)>;

  NcclCollectives(CudaDeviceBase& device, std::string name, int size);
  Status start(const ncclUniqueId& id, Rank rank);
  Status run(std::string_view what, Tensor inout, Deadline deadline, const Enqueue& enqueue);
  Status run_parts(std::string_view what, Tensor inout, std::span<const Part> parts, Deadline deadline,
                   const std::function<ncclResult_t(std::byte* at, const Part&)>& one);
  Result<std::byte*> staged(Tensor inout);
  Status enqueue_all(const Enqueue& enqueue, std::byte* at);
  Result<bool> settled();
  Error break_with(Error error);

  CudaDeviceBase& device_;
  const std::string name_;  // "beijing rank 3: NCCL 'gradients' (view 1, 4 ranks)"
  const int size_;
  const Stream stream_;
  const cudaStream_t native_;
  std::unique_ptr<Buffer> staging_;  // device memory for tensors that lie on the host

  ncclComm_t from_nccl_ = nullptr;  // where NCCL writes the communicator: at once, and again when it has connected

  std::mutex mutex_;           // guards what follows: abort() comes from other lanes
  ncclComm_t comm_ = nullptr;  // nullptr once broken
  Status first_error_;
};

// What a caller branches on: a peer that closed its connection is peer_lost, everything else failed.
ErrorCode error_code_of(ncclResult_t code);

}  // namespace xdc
