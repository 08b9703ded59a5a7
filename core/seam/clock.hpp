// What time is it, in this world?
#pragma once

#include "core/base/time.hpp"

namespace xdc {

// Any lane may call. Time never goes back.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual TimePoint now() const = 0;
  // Returns at `t` exactly (sim) or not before it (exec). A past `t` returns at once.
  virtual void sleep_until(TimePoint t) = 0;
};

}  // namespace xdc
