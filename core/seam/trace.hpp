// What happened, for whoever watches? One event schema in both worlds.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <variant>

#include "core/base/time.hpp"

namespace xdc {

struct TraceField {
  std::string_view key;
  std::variant<int64_t, double, std::string_view> value;
};

// Any lane may call. Never blocks on a reader and never fails: a watcher must not change a run.
class Trace {
 public:
  virtual ~Trace() = default;
  // `event` is a field word of the README's list ("step", "evaluation", ...). The world adds datacenter and rank.
  virtual void record(TimePoint time, int64_t step, std::string_view event, std::initializer_list<TraceField> fields) = 0;
};

}  // namespace xdc
