#include "tests/gpu/fake_cuda.hpp"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include "core/base/check.hpp"

struct CUstream_st {
  std::deque<std::function<bool()>> work;
};

// Recording again makes a new point; who waits for the old one keeps it.
struct CUevent_st {
  std::shared_ptr<bool> done;
};

namespace {

struct State {
  std::recursive_mutex mutex;
  int devices = 8;
  cudaError_t count_answer = cudaSuccess;
  size_t capacity = 1'000'000'000;
  bool held = false;
  cudaError_t planted = cudaSuccess;
  cudaError_t broken = cudaSuccess;
  std::set<cudaStream_t> streams;
  std::set<cudaEvent_t> events;
  std::map<void*, size_t> device_memory, pinned_memory;
  std::string last_copy;
};

State& state() {
  static State only;
  return only;
}

// Everything that could run has run, or nothing moves.
void advance() {
  auto& s = state();
  for (bool moved = true; moved && !s.held && s.broken == cudaSuccess;) {
    moved = false;
    for (auto* stream : s.streams) {
      while (!stream->work.empty() && s.broken == cudaSuccess && stream->work.front()()) {
        stream->work.pop_front();
        s.broken = std::exchange(s.planted, cudaSuccess);
        moved = true;
      }
    }
  }
}

cudaError_t grant(std::map<void*, size_t>& kind, void** at, size_t size) {
  auto& s = state();
  size_t used = 0;
  for (const auto& [where, bytes] : s.device_memory) {
    used += bytes;
  }
  if (s.broken != cudaSuccess || (&kind == &s.device_memory && size > s.capacity - used)) {
    return s.broken != cudaSuccess ? s.broken : cudaErrorMemoryAllocation;
  }
  *at = std::malloc(size);
  std::memset(*at, 0xA5, size);  // as real memory: never what one hopes for
  kind[*at] = size;
  return cudaSuccess;
}

cudaError_t take_back(std::map<void*, size_t>& kind, void* at) {
  auto& s = state();
  if (at != nullptr) {
    if (kind.erase(at) == 0) {
      return cudaErrorInvalidValue;
    }
    std::free(at);
  }
  return s.broken;
}

}  // namespace

namespace xdc::fake {

void reset() {
  const std::lock_guard lock(state().mutex);
  auto& s = state();
  XDC_CHECK(s.streams.empty() && s.events.empty() && s.device_memory.empty() && s.pinned_memory.empty());
  s.devices = 8;
  s.count_answer = cudaSuccess;
  s.capacity = 1'000'000'000;
  s.held = false;
  s.planted = s.broken = cudaSuccess;
}

void set_devices(int count, cudaError_t answer) {
  const std::lock_guard lock(state().mutex);
  state().devices = count;
  state().count_answer = answer;
}
void set_capacity(size_t bytes) {
  const std::lock_guard lock(state().mutex);
  state().capacity = bytes;
}
void hold(bool held) {
  const std::lock_guard lock(state().mutex);
  state().held = held;
}
void break_device(cudaError_t error) {
  const std::lock_guard lock(state().mutex);
  state().planted = error;
}
size_t events_made() {
  const std::lock_guard lock(state().mutex);
  return state().events.size();
}
size_t streams_alive() {
  const std::lock_guard lock(state().mutex);
  return state().streams.size();
}
size_t allocations() {
  const std::lock_guard lock(state().mutex);
  return state().device_memory.size() + state().pinned_memory.size();
}
std::string last_copy() {
  const std::lock_guard lock(state().mutex);
  return state().last_copy;
}
void enqueue(cudaStream_t stream, std::function<bool()> work) {
  const std::lock_guard lock(state().mutex);
  stream->work.push_back(std::move(work));
}
void locked(const std::function<void()>& body) {
  const std::lock_guard lock(state().mutex);
  body();
}

}  // namespace xdc::fake

// What follows are CUDA's own functions, in alphabetical order; what each does is in CUDA's manual.
using xdc::fake::enqueue;

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags) {
  const std::lock_guard lock(state().mutex);
  XDC_CHECK(flags == cudaEventDisableTiming);
  *event = new CUevent_st{std::make_shared<bool>(true)};
  state().events.insert(*event);
  return state().broken;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  const std::lock_guard lock(state().mutex);
  XDC_CHECK(state().events.erase(event) == 1);
  delete event;
  return state().broken;
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  const std::lock_guard lock(state().mutex);
  advance();
  if (state().broken != cudaSuccess) {
    return state().broken;
  }
  return *event->done ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  const std::lock_guard lock(state().mutex);
  const auto point = std::make_shared<bool>(false);
  event->done = point;
  enqueue(stream, [point] { return *point = true; });
  return state().broken;
}

cudaError_t cudaFree(void* at) {
  const std::lock_guard lock(state().mutex);
  return take_back(state().device_memory, at);
}

cudaError_t cudaFreeHost(void* at) {
  const std::lock_guard lock(state().mutex);
  return take_back(state().pinned_memory, at);
}

cudaError_t cudaGetDeviceCount(int* count) {
  const std::lock_guard lock(state().mutex);
  *count = state().devices;
  return state().count_answer;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  const std::lock_guard lock(state().mutex);
  *properties = {};
  std::strncpy(properties->name, "Fake GPU", sizeof(properties->name) - 1);
  return device < state().devices ? cudaSuccess : cudaErrorInvalidDevice;
}

const char* cudaGetErrorName(cudaError_t error) {
  return error == cudaErrorMemoryAllocation ? "cudaErrorMemoryAllocation"
         : error == cudaErrorIllegalAddress ? "cudaErrorIllegalAddress"
                                            : "other";
}

const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaErrorMemoryAllocation ? "out of memory"
         : error == cudaErrorIllegalAddress ? "an illegal memory access was encountered"
         : error == cudaErrorNoDevice       ? "no CUDA-capable device is detected"
                                            : "another error";
}

cudaError_t cudaGetLastError() { return cudaSuccess; }

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* argument) {
  enqueue(stream, [=] {
    function(argument);
    return true;
  });
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** at, size_t size) {
  const std::lock_guard lock(state().mutex);
  return grant(state().device_memory, at, size);
}

cudaError_t cudaMallocHost(void** at, size_t size) {
  const std::lock_guard lock(state().mutex);
  return grant(state().pinned_memory, at, size);
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  const std::lock_guard lock(state().mutex);
  *total = *free = state().capacity;
  for (const auto& [where, bytes] : state().device_memory) {
    *free -= bytes;
  }
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t size, cudaMemcpyKind kind, cudaStream_t stream) {
  const std::lock_guard lock(state().mutex);
  state().last_copy = kind == cudaMemcpyHostToDevice     ? "host to device"
                      : kind == cudaMemcpyDeviceToHost   ? "device to host"
                      : kind == cudaMemcpyDeviceToDevice ? "device to device"
                                                         : "host to host";
  enqueue(stream, [=] {
    std::memcpy(to, from, size);
    return true;
  });
  return state().broken;
}

cudaError_t cudaMemsetAsync(void* at, int value, size_t size, cudaStream_t stream) {
  const std::lock_guard lock(state().mutex);
  enqueue(stream, [=] {
    std::memset(at, value, size);
    return true;
  });
  return state().broken;
}

cudaError_t cudaSetDevice(int device) {
  const std::lock_guard lock(state().mutex);
  return device < state().devices ? state().broken : cudaErrorInvalidDevice;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int flags) {
  const std::lock_guard lock(state().mutex);
  XDC_CHECK(flags == cudaStreamNonBlocking);
  *stream = new CUstream_st;
  state().streams.insert(*stream);
  return state().broken;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const std::lock_guard lock(state().mutex);
  XDC_CHECK(state().streams.erase(stream) == 1);
  delete stream;
  return state().broken;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  for (;;) {
    {
      const std::lock_guard lock(state().mutex);
      advance();
      if (stream->work.empty() || state().broken != cudaSuccess) {
        return state().broken;
      }
    }
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int /*flags*/) {
  const std::lock_guard lock(state().mutex);
  enqueue(stream, [point = event->done] { return *point; });
  return state().broken;
}
