#include "exec/grpc/registration.hpp"

#include <fmt/format.h>

#include "core/base/log.hpp"

namespace xdc {

Registration::Registration(Store& store, const SteadyClock& clock, std::string key, std::string value, Duration time_to_live)
    : store_(store), clock_(clock), key_(std::move(key)), value_(std::move(value)), time_to_live_(time_to_live) {}

Result<std::unique_ptr<Registration>> Registration::start(Store& store, const SteadyClock& clock, std::string key, std::string value,
                                                          Duration time_to_live, Deadline deadline) {
  std::unique_ptr<Registration> registration(new Registration(store, clock, std::move(key), std::move(value), time_to_live));
  XDC_TRY(registration->put(deadline));
  registration->keeper_ = std::thread([self = registration.get()] { self->keep(); });
  return registration;
}

Registration::~Registration() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    changed_.notify_all();
  }
  if (keeper_.joinable()) {
    keeper_.join();
  }
}

// A lease can end between its grant and the put, when this process is stopped just there. The time it took tells that from
// a store that refuses.
Status Registration::put(Deadline deadline) {
  for (;;) {
    const TimePoint begin = clock_.now();
    XDC_TRY_ASSIGN(lease_, store_.lease(time_to_live_, deadline));
    const Status written = store_.put_if(key_, value_, kAnyRevision, lease_.get(), deadline).status();
    if (written.ok() || clock_.now() >= deadline || clock_.now() - begin < time_to_live_) {
      return written;
    }
  }
}

void Registration::keep() {
  const Duration period{time_to_live_.ns / 3};
  std::unique_lock lock(mutex_);
  while (!wait_until(clock_, changed_, lock, clock_.now() + period, [this] { return ending_; })) {
    if (lease_ && lease_->held()) {
      continue;
    }
    lock.unlock();
    log(LogLevel::warning,
        fmt::format("the lease of {} has ended: this process was stopped, or starved, for longer than the {} s it lasts; "
                    "it is put again",
                    key_, to_seconds(time_to_live_)));
    if (const Status again = put(clock_.now() + time_to_live_); !again.ok()) {
      lease_.reset();
      log(LogLevel::warning, fmt::format("{} could not be put again, which is tried further: {}", key_, again.error().message));
    }
    lock.lock();
  }
}

}  // namespace xdc
