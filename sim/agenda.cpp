#include "sim/agenda.hpp"

#include <algorithm>
#include <cmath>

namespace xdc {
namespace {

// Round rates and sizes end transfers at exactly half a nanosecond often enough, and then the last bit of a sum would decide: two ways to
// add up the same time could be a nanosecond apart. No figure that people write ends at this fraction.
constexpr double kHalf = 0.4627;

}  // namespace

TimePoint Agenda::now() {
  const double ns = std::floor(sg::Engine::get_clock() * 1e9 + kHalf);
  return {ns >= static_cast<double>(kHorizon.ns) ? kHorizon.ns : static_cast<int64_t>(ns)};
}

double Agenda::seconds_of(TimePoint t) { return static_cast<double>(t.ns) / 1e9; }

Agenda::Entry Agenda::at(TimePoint t, Action action) {
  const Entry entry{std::clamp(t, now(), kHorizon).ns, ++sequence_};
  entries_.emplace(entry, std::move(action));
  if (!firing_) {
    arm();
  }
  return entry;
}

void Agenda::arm() {
  if (entries_.empty()) {
    return;
  }
  const int64_t first = entries_.begin()->first.first;
  if (alarm_ != nullptr) {
    if (alarm_ns_ <= first) {
      return;
    }
    alarm_->remove();
  }
  alarm_ns_ = first;
  // SimGrid refuses a date that its clock, which may stand a fraction of a nanosecond behind ours, has passed.
  alarm_ = sg::Timer::set(std::max(seconds_of({first}), sg::Engine::get_clock()), [this] { fire(); });
}

void Agenda::fire() {
  alarm_ = nullptr;
  firing_ = true;
  while (!entries_.empty() && entries_.begin()->first.first <= now().ns) {
    const auto action = entries_.extract(entries_.begin());
    action.mapped()();
  }
  firing_ = false;
  arm();
}

}  // namespace xdc
