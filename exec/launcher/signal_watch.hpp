// Was this launcher asked to end? SIGINT, SIGTERM and SIGHUP arrive at a file descriptor while this lives.
#pragma once

#include <signal.h>

namespace xdc {

// Threads started meanwhile do not take them: made before the first one.
class SignalWatch {
 public:
  SignalWatch();
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

  int fd() const { return fd_; }
  const sigset_t& mask_before() const { return before_; }
  // 0: none came.
  int take() const;

 private:
  sigset_t before_{};
  int fd_ = -1;
};

}  // namespace xdc
