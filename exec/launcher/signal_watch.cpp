#include "exec/launcher/signal_watch.hpp"

#include <sys/signalfd.h>
#include <unistd.h>

#include "core/base/check.hpp"

namespace xdc {

SignalWatch::SignalWatch() {
  sigset_t watched;
  sigemptyset(&watched);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    sigaddset(&watched, signal);
  }
  ::pthread_sigmask(SIG_BLOCK, &watched, &before_);
  fd_ = ::signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
  XDC_CHECK(fd_ >= 0);
}

SignalWatch::~SignalWatch() {
  ::close(fd_);
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

int SignalWatch::take() const {
  signalfd_siginfo info{};
  return ::read(fd_, &info, sizeof info) == static_cast<ssize_t>(sizeof info) ? static_cast<int>(info.ssi_signo) : 0;
}

}  // namespace xdc
