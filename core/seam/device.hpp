// Where do tensors live and when is work on them done? Streams and events as in CUDA; a CPU completes at once.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.hpp"
#include "core/base/time.hpp"
#include "core/seam/bytes.hpp"

namespace xdc {

class Kernels;

// A queue of work on a device: operations on one stream run in order. Valid while its device lives.
struct Stream {
  int id = 0;
};

// A point in a stream: finished when all that was enqueued before it is.
struct Event {
  uint64_t id = 0;
};

// What an operation costs on the modelled device: time = max(flops / rate, bytes / memory bandwidth).
struct Cost {
  double flops = 0;
  double bytes = 0;  // read + written in device memory
  friend Cost operator+(Cost a, Cost b) { return {a.flops + b.flops, a.bytes + b.bytes}; }
  friend Cost operator*(Cost a, double k) { return {a.flops * k, a.bytes * k}; }
};

// Owns memory. Ownership: the caller; must not outlive its device.
class Buffer {
 public:
  virtual ~Buffer() = default;
  virtual Bytes bytes() const = 0;  // in a phantom run `device` memory is phantom; host and pinned are always real
};

// One device of one member. Any lane of that member may call, but a stream is used by one lane at a time.
class Device {
 public:
  virtual ~Device() = default;
  virtual std::string name() const = 0;  // "a100_80g", "cpu"

  // Zero-filled. Errors: failed, with how much was asked for, in use and there.
  virtual Result<std::unique_ptr<Buffer>> allocate(Space space, size_t size) = 0;

  virtual Stream make_stream(std::string_view name) = 0;

  // Enqueues to = from; costs no modelled time by itself, like kernels (charge). Same size, no overlap. Host memory must stay valid and untouched until an event after it is done.
  virtual void copy(Stream stream, Bytes to, Bytes from) = 0;
  // Enqueues to = 0.
  virtual void clear(Stream stream, Bytes to) = 0;

  virtual Event record(Stream stream) = 0;
  // What is enqueued on `stream` from now on starts after `event`.
  virtual void stream_wait(Stream stream, Event event) = 0;
  // Blocks the calling lane. Errors: timeout; failed, when the device reports an error of earlier work (sticky).
  virtual Status wait(Event event, Deadline deadline) = 0;

  // Says that the work enqueued next on `stream` costs this much on the modelled device. Where time is modelled (sim, and
  // rehearsals in exec) it passes on the stream; where work is really done this does nothing. Kernels charge nothing by
  // themselves: what is charged is the caller's decision, so a small model can be trained at a big one's pace.
  virtual void charge(Stream stream, Cost cost) = 0;

  // Arithmetic. In a phantom run it does nothing.
  virtual Kernels& kernels() = 0;

  // The value of a one-element f32 tensor, after everything enqueued so far on `stream`; nullopt where it is a phantom.
  virtual std::optional<float> read_scalar(Stream stream, Tensor scalar) = 0;
};

}  // namespace xdc
