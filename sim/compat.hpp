// Which SimGrid is this? The one place that includes it and names what changed between its versions (written for 3.32; 4.x
// renames create_* to add_* and replaces vectors of activities by ActivitySet).
#pragma once

// SimGrid's C headers lean on what the first one includes.
// clang-format off
#include <simgrid/s4u.hpp>
#include <simgrid/simix.hpp>
#include <simgrid/kernel/Timer.hpp>
#include <simgrid/kernel/resource/Model.hpp>
#include <simgrid/version.h>
#include <xbt/log.h>
// clang-format on

#include <string>
#include <utility>

XBT_LOG_EXTERNAL_CATEGORY(ker_engine);

namespace xdc::sg {

using simgrid::kernel::activity::ActivityImpl;
using simgrid::kernel::resource::Action;
using simgrid::kernel::resource::Model;
using simgrid::kernel::routing::NetPoint;
using simgrid::kernel::timer::Timer;
using simgrid::s4u::Actor;
using simgrid::s4u::ActorPtr;
using simgrid::s4u::Comm;
using simgrid::s4u::CommPtr;
using simgrid::s4u::Engine;
using simgrid::s4u::Host;
using simgrid::s4u::Link;
using simgrid::s4u::LinkInRoute;
using simgrid::s4u::NetZone;
using simgrid::s4u::Semaphore;
using simgrid::s4u::SemaphorePtr;

inline NetZone* full_zone(const std::string& name) { return simgrid::s4u::create_full_zone(name); }
inline NetZone* star_zone(const std::string& name, const NetZone* parent) {
  return simgrid::s4u::create_star_zone(name)->set_parent(parent);
}

// Only what ends the process is said by SimGrid itself. Its word on deadlocks is left out: ours names what each lane waits for.
inline void silence() {
  xbt_log_control_set("root.thres:critical");
  xbt_log_threshold_set(&_XBT_LOGV(ker_engine), xbt_log_priority_infinite);
}

// Runs `work` as SimGrid's own code: from a lane, no other lane runs meanwhile.
template <class Work>
void in_kernel(Work&& work) {
  simgrid::kernel::actor::simcall_answered(std::forward<Work>(work));
}

}  // namespace xdc::sg
