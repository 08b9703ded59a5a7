// What would a GPU do? A CUDA runtime and an NCCL of the tests' own, in host memory: streams that a test can stop, errors it
// can plant, resources it can count. Only what exec/cuda and exec/nccl call is there; anything else fails to link.
#pragma once

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <functional>
#include <string>

namespace xdc::fake {

// Back to eight healthy devices with 1 GB each, streams running. Nothing may be left from before: it checks.
void reset();

void set_devices(int count, cudaError_t answer);
void set_capacity(size_t bytes);
// While held, no stream gets on with its work.
void hold(bool held);
// The next piece of work on any stream ends with this error, and the device stays broken as CUDA's do.
void break_device(cudaError_t error);

size_t events_made();  // CUDA events alive
size_t streams_alive();
size_t allocations();
std::string last_copy();  // "pinned to device", by the kind the caller named

// For the fake NCCL. `work` runs at the head of the stream until it returns true. All of it runs under one lock.
void enqueue(cudaStream_t stream, std::function<bool()> work);
// Runs `body` under that lock.
void locked(const std::function<void()>& body);

// The communicator of `rank` in the group that was made last reports this from now on.
void break_communicator(int rank, ncclResult_t error);
size_t communicators_alive();
// The next operation is refused when it is enqueued.
void refuse_next_operation(ncclResult_t error);
// As many operations were grouped by the last ncclGroupEnd.
size_t last_group_size();

}  // namespace xdc::fake
