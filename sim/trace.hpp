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

// What the world itself does between those events. All references are valid during the call only.
struct MessageSeen {
  MemberId from = 0, to = 0;
  std::string_view channel;
  TimePoint start, left, arrival;  // when it was the flow's turn, when its last byte left the sender, when it is there
  const ControlWords& control;
  Bytes payload;
  int64_t payload_bytes = 0;  // as charged; 0 for control messages
  int64_t wire_bytes = 0;
  int flows = 1;  // like messages that this one stands for, with these bytes each
};
// Seen when it is enqueued, before it is done.
struct ComputationSeen {
  MemberId member = 0;
  std::string_view stream;
  TimePoint start, end;
};
// Either may be empty. Must not call into the run.
struct Watch {
  std::function<void(const MessageSeen&)> message;
  std::function<void(const ComputationSeen&)> computation;
};

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
