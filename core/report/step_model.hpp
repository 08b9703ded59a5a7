// What is a step's time made of, by formula? Enough to say what limits a variant and where another one would be faster, and held
// against the measured time before anything is said.
//
//   seconds(chain) = compute * computation + sum over legs of crossings * latency(route) + share * the largest of bytes / rate on it
//   seconds(step)  = the largest over all chains
//
// latency(route) is the sum over its lines; bytes are those measured on a line in a step, all traffic and framing of it. Left out:
// what happens inside datacenters, slow start, what several messages take from each other's rate.
#pragma once

#include "core/report/run_report.hpp"

namespace xdc {

// The model is believed where it says at most this part more than the measured mean step: it is then no bound, but close; and where it
// says at least that part of it: what it leaves out may take the rest, and is taken to stay as it is when a line changes.
inline constexpr double kModelTolerance = 0.10;
inline constexpr double kLeastExplained = 2.0 / 3;

// A line as it might be. Both directions of it are changed alike.
struct LineChange {
  size_t link = 0;  // index into VariantReport::links
  double rate_factor = 1;
  std::optional<double> latency_s;
};

struct StepParts {
  double compute_s = 0, latency_s = 0, rate_s = 0;
  double crossings = 0;  // of lines, one after another
  // Of the slowest chain; index into VariantReport::links. nullopt: nothing crosses a line.
  std::optional<size_t> line;

  double seconds() const { return compute_s + latency_s + rate_s; }
};

// The slowest chain. nullopt: there is no formula, or a line is not known.
std::optional<StepParts> step_parts(const VariantReport& variant, const std::optional<LineChange>& change = std::nullopt);

// Why the model cannot be believed ("the formula says 12 ms a step, the run took 31 ms"); empty: it can.
std::string model_doubt(const VariantReport& variant);

// The part of the measured step that the model leaves out, where that is more than kModelTolerance; else 0. Requires that there is no
// doubt.
double left_out(const VariantReport& variant);

// The step's time after a change of a line: measured + what the model adds or takes. Requires that there is no doubt.
double step_after(const VariantReport& variant, const LineChange& change);

}  // namespace xdc
