// How does a member stay findable? One key in the store, under a lease, for as long as this object lives.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "core/seam/store.hpp"
#include "exec/host/steady_clock.hpp"

namespace xdc {

// A process that was stopped, or a machine that was suspended, for longer than the lease finds its key gone when it goes on.
// The key is still true then, so it is put again: otherwise the others would wait for it until their deadline.
class Registration {
 public:
  // Returns when the key can be read. Errors: those of the store, or timeout. Store and clock outlive it.
  static Result<std::unique_ptr<Registration>> start(Store& store, const SteadyClock& clock, std::string key, std::string value,
                                                     Duration time_to_live, Deadline deadline);
  ~Registration();  // the key is gone when it returns, or soon after
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;

 private:
  Registration(Store& store, const SteadyClock& clock, std::string key, std::string value, Duration time_to_live);
  Status put(Deadline deadline);
  void keep();

  Store& store_;
  const SteadyClock& clock_;
  const std::string key_;
  const std::string value_;
  const Duration time_to_live_;
  std::unique_ptr<Lease> lease_;  // of the keeping thread, once that runs; none: the key must be put again
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ending_ = false;
  std::thread keeper_;
};

}  // namespace xdc
