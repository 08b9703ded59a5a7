// How do two things happen at once? Two lanes: threads in exec, actors in sim.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "core/base/result.hpp"
#include "core/base/time.hpp"

namespace xdc {

// A lane of execution. Ownership: the spawner. Requirement: join() has returned before it is destroyed.
class Lane {
 public:
  virtual ~Lane() = default;
  // Returns when the lane's function has returned. Call once, from the spawner.
  virtual void join() = 0;
};

// A counting signal, from zero, and the only way lanes hand data to each other: what was written before a post() is
// visible after the wait() that consumed it. Any lane may post; one lane at a time waits.
class Signal {
 public:
  virtual ~Signal() = default;
  virtual void post() = 0;
  // Consumes one post. Errors: timeout, when none came before the deadline; a post at the very deadline wins.
  virtual Status wait(Deadline deadline) = 0;
};

class Lanes {
 public:
  virtual ~Lanes() = default;
  // Starts `body` on the same member's host. The name appears in logs, traces and failed checks.
  virtual std::unique_ptr<Lane> spawn(std::string_view name, std::function<void()> body) = 0;
  virtual std::unique_ptr<Signal> make_signal() = 0;
};

}  // namespace xdc
