#include "sim/lane_register.hpp"

#include <fmt/format.h>

#include "core/base/quantity.hpp"

namespace xdc {

void LaneRegister::run(MemberId member, std::string name, const std::function<void()>& body) {
  const auto entry = lanes_.insert(lanes_.end(), LaneEntry{member, std::move(name), nullptr, kNoDeadline, {}});
  // Leaves the list with its actor, also when that is killed.
  struct Listed {
    std::list<LaneEntry>& lanes;
    std::list<LaneEntry>::iterator entry;
    ~Listed() { lanes.erase(entry); }
  } const listed{lanes_, entry};
  sg::Actor::self()->set_data(&*entry);
  body();
}

std::string LaneRegister::describe_all() const {
  constexpr int kLines = 24;
  std::string text;
  int left = static_cast<int>(lanes_.size());
  for (const auto& lane : lanes_) {
    if (left + kLines == static_cast<int>(lanes_.size()) && left > 1) {
      text += fmt::format("\n  and {} more", left);
      break;
    }
    text += fmt::format("\n  {}, lane {}: ", cluster_.describe(lane.member), lane.name);
    if (lane.waits_for == nullptr) {
      text += "runs";
    } else {
      text += fmt::format(
          "waits for {} since {}, {}", (*lane.waits_for)(), format_duration(lane.since - TimePoint{}),
          lane.deadline == kNoDeadline ? "without a deadline" : fmt::format("until {}", format_duration(lane.deadline - TimePoint{})));
    }
    --left;
  }
  return text;
}

std::string LaneRegister::describe_current() const {
  const auto* lane = current();
  return lane == nullptr ? "no lane" : fmt::format("{}, lane {}", cluster_.describe(lane->member), lane->name);
}

LaneEntry* LaneRegister::current() {
  const auto* actor = sg::Actor::self();
  return actor == nullptr ? nullptr : actor->get_data<LaneEntry>();
}

WaitingLane::WaitingLane(const Describe& describe, Deadline deadline) : lane_(LaneRegister::current()) {
  if (lane_ != nullptr) {
    lane_->waits_for = &describe;
    lane_->deadline = deadline;
    lane_->since = Agenda::now();
  }
}

WaitingLane::~WaitingLane() {
  if (lane_ != nullptr) {
    lane_->waits_for = nullptr;
  }
}

}  // namespace xdc
