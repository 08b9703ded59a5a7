#include "exec/launcher/event_watch.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

namespace xdc {

namespace {

// How long the end of a variant waits for this thread at most.
constexpr Duration kSlice = milliseconds(100);

}  // namespace

EventWatch::EventWatch(Session& session, std::string prefix)
    : session_(session), prefix_(std::move(prefix)), fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  XDC_CHECK(fd_ >= 0);
  thread_ = std::thread([this] { run(); });
}

EventWatch::~EventWatch() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  thread_.join();
  ::close(fd_);
}

EventWatch::News EventWatch::take() {
  uint64_t count = 0;
  [[maybe_unused]] const ssize_t taken = ::read(fd_, &count, sizeof count);
  const std::lock_guard lock(mutex_);
  return news_;
}

void EventWatch::run() {
  uint64_t revision = 0;
  for (;;) {
    const auto event = session_.told(prefix_, &revision, kSlice);
    const std::lock_guard lock(mutex_);
    if (ending_) {
      return;
    }
    if (event.ok() && !event.value()) {
      continue;
    }
    if (event.ok()) {
      news_.event = event.value();
    } else {
      news_.store_lost = event.error().message;
    }
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t told = ::write(fd_, &one, sizeof one);
    if (!event.ok()) {
      return;  // with it the one launcher that everybody needs
    }
  }
}

}  // namespace xdc
