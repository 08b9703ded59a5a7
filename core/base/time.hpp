// What is a moment, what is a span? Integer nanoseconds, in both worlds: no rounding, no drift, exact comparison.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace xdc {

struct Duration {
  int64_t ns = 0;
  friend constexpr auto operator<=>(Duration, Duration) = default;
  friend constexpr Duration operator+(Duration a, Duration b) { return {a.ns + b.ns}; }
  friend constexpr Duration operator-(Duration a, Duration b) { return {a.ns - b.ns}; }
  friend constexpr Duration operator*(Duration a, int64_t k) { return {a.ns * k}; }
};

constexpr Duration nanoseconds(int64_t n) { return {n}; }
constexpr Duration milliseconds(int64_t n) { return {n * 1'000'000}; }
constexpr Duration seconds(int64_t n) { return {n * 1'000'000'000}; }
constexpr double to_seconds(Duration d) { return static_cast<double>(d.ns) * 1e-9; }

// Rounds to the nearest nanosecond; a half goes up. Requires 0 <= s < 9.2e9.
Duration from_seconds(double s);

// Nanoseconds since the run began (virtual in sim, steady clock in exec).
struct TimePoint {
  int64_t ns = 0;
  friend constexpr auto operator<=>(TimePoint, TimePoint) = default;
  friend constexpr TimePoint operator+(TimePoint t, Duration d) {
    // Saturates, so that "now + for ever" stays for ever.
    return {d.ns > std::numeric_limits<int64_t>::max() - t.ns ? std::numeric_limits<int64_t>::max() : t.ns + d.ns};
  }
  friend constexpr Duration operator-(TimePoint a, TimePoint b) { return {a.ns - b.ns}; }
};

// Deadlines are absolute: a budget handed down through calls is never restarted by accident.
using Deadline = TimePoint;
inline constexpr Deadline kNoDeadline{std::numeric_limits<int64_t>::max()};

}  // namespace xdc
