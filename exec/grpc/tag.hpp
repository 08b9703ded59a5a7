// How does a finished gRPC operation find its way back? A tag keeps its stream alive until the operation is done.
#pragma once

#include <memory>
#include <utility>

#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace xdc {

// gRPC hands what one thread wrote to the thread that completes the operation. The thread sanitizer cannot see that in a library
// that was built without it, so it is told; elsewhere these do nothing.
inline void handed_to_grpc([[maybe_unused]] void* what) {
#if defined(__SANITIZE_THREAD__)
  __tsan_release(what);
#endif
}
inline void handed_back_by_grpc([[maybe_unused]] void* what) {
#if defined(__SANITIZE_THREAD__)
  __tsan_acquire(what);
#endif
}

// What a completion queue hands back. Completed exactly once per operation, by a polling thread.
class Tag {
 public:
  virtual ~Tag() = default;
  virtual void complete(bool ok) = 0;
};

// One operation at a time of a stream: start() goes with the call that begins it, complete() runs `done` on the stream.
template <class Stream>
class StreamTag final : public Tag {
 public:
  explicit StreamTag(void (Stream::*done)(bool)) : done_(done) {}
  Tag* start(std::shared_ptr<Stream> stream) {
    stream_ = std::move(stream);
    handed_to_grpc(this);
    return this;
  }
  void complete(bool ok) override {
    // Moved out first: `done` may start the next operation with this tag.
    const std::shared_ptr<Stream> stream = std::move(stream_);
    ((*stream).*done_)(ok);
  }

 private:
  std::shared_ptr<Stream> stream_;
  void (Stream::*done_)(bool);
};

}  // namespace xdc
