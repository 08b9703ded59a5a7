// Who watches a simulated run for --check, --trace and --events? All turn what they see into text that the parent process hears.
#pragma once

#include "tools/side_by_side.hpp"
#include "tools/simulate.hpp"

namespace xdc {

// One line an event, with all that must be equal in two runs: members, round or step, times in nanoseconds, bytes, and a digest of what
// every message held. `spec` and `voice` must outlive the run.
Onlookers check_onlookers(const RunSpec& spec, const TaskVoice& voice);

// Parts of a timeline (core/report/timeline.hpp), whose processes begin at `first_process`.
Onlookers timeline_onlookers(const RunSpec& spec, int first_process, const TaskVoice& voice);

// Lines of --events (core/report/event_line.hpp): what every member says, also those that another one acts for, unless told to `expand`.
Observer events_onlooker(const RunSpec& spec, bool expand, const TaskVoice& voice);

}  // namespace xdc
