// Which variant is best for what, why, and where would the choice be another one?
#pragma once

#include <string>
#include <vector>

#include "core/report/run_report.hpp"

namespace xdc {

// Names may be long or odd: they are shortened as in the table.
struct Verdict {
  std::string what;               // "time", "bytes", "accuracy", "cost"
  std::vector<std::string> best;  // variants; empty: all alike
  std::string value;              // "97 % after 4.21 s"
  std::string compared;           // "ring interleaved: 97 % after 72.7 s, 17×"; "all alike"; empty: nothing to compare with
  std::string why;                // what limits the worst and the best; empty: nothing to say
  std::string flip;               // where the best and the runner-up would change places, or why that cannot be told; empty: not asked
};

// Of the variants that finished; none where fewer than two did.
std::vector<Verdict> verdicts(const RunReport& report);

// Says so where variants stopped at different samples; else empty.
std::string samples_text(const RunReport& report);

// What a value of the target is called: "97 %", "loss 0.1".
std::string target_text(const TargetReport& target);
// Of a cost: three digits; "not priced".
std::string money_text(std::optional<double> amount);
std::string percent_text(double part, int digits);

inline constexpr int kVariantNameWidth = 28;

}  // namespace xdc
