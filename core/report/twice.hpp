// Did the same run, done twice, do the same? Two streams of events, one a line, compared as they come; then the members' accounts.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/report/report.hpp"

namespace xdc {

class Twice {
 public:
  struct Difference {
    int64_t event = 0;                // the first that differs, from 1; 0: in the accounts, after all events
    std::array<std::string, 2> said;  // what either run said there; "nothing more" where it had ended
  };

  // The next text of one run (side 0 or 1), in pieces of any size.
  void hear(int side, std::string_view text);
  // All of that side's events were heard, and these are its members' accounts.
  void ended(int side, std::vector<MemberReport> reports);
  // One run is so far before the other that it should wait: what it said has to be kept until then.
  bool too_far_ahead(int side) const;

  const std::optional<Difference>& difference() const { return difference_; }
  // Both ended and nothing differs.
  bool equal() const { return !difference_ && reports_[0] && reports_[1] && unmatched_[0].empty() && unmatched_[1].empty(); }
  int64_t events() const { return events_; }

 private:
  void compare();
  void compare_ends();

  std::array<std::string, 2> unmatched_;  // begins at the start of a line; one of them is no longer than the rest of a line
  std::array<std::optional<std::vector<MemberReport>>, 2> reports_;
  std::optional<Difference> difference_;
  int64_t events_ = 0;  // equal ones
};

}  // namespace xdc
