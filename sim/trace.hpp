// Who watches a simulated run? One observer for all members, called as things happen, in order of virtual time.
#pragma once

#include <functional>

#include "core/seam/fabric.hpp"
#include "core/seam/trace.hpp"

namespace xdc {

// Valid during the call only.
struct TraceEvent {
  MemberId member = 0;
  TimePoint time;
  int64_t step = 0;
  std::string_view event;
  std::initializer_list<TraceField> fields;
};
// Must not call into the run.
using Observer = std::function<void(const TraceEvent&)>;

class SimTrace final : public Trace {
 public:
  SimTrace(const Observer& observer, MemberId member) : observer_(observer), member_(member) {}
  void record(TimePoint time, int64_t step, std::string_view event, std::initializer_list<TraceField> fields) override {
    if (observer_) {
      observer_({member_, time, step, event, fields});
    }
  }

 private:
  const Observer& observer_;
  MemberId member_;
};

}  // namespace xdc
