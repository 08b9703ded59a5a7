// Has whoever started this member asked it to end in good order?
#pragma once

#include <atomic>

namespace xdc {

// Any lane may ask, at any time. Once true it stays so.
class StopRequest {
 public:
  virtual ~StopRequest() = default;
  virtual bool requested() const = 0;
};

// Set once, also by a signal handler.
class StopFlag final : public StopRequest {
 public:
  void request() { requested_.store(true, std::memory_order_relaxed); }
  bool requested() const override { return requested_.load(std::memory_order_relaxed); }

 private:
  static_assert(std::atomic<bool>::is_always_lock_free);
  std::atomic<bool> requested_{false};
};

}  // namespace xdc
