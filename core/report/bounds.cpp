#include "core/report/bounds.hpp"

#include <fmt/format.h>

#include "core/base/quantity.hpp"

namespace xdc {
namespace {

constexpr double kRounding = 1e-6;

std::string member_name(const VariantFacts& facts, int member) {
  const auto& about = facts.members[static_cast<size_t>(member)];
  return fmt::format("{} rank {}", facts.datacenters[static_cast<size_t>(about.datacenter)], member);
}

void check_bytes(VariantReport& out) {
  for (const auto& link : out.links) {
    if (link.payload_bytes == link.closed_form_bytes) continue;
    out.bound.violated.push_back(fmt::format("{} to {}: {} payload bytes, but the closed form says {}", link.from, link.to,
                                             link.payload_bytes, link.closed_form_bytes));
  }
}

}  // namespace

void add_bounds(const VariantFacts& facts, const RunSpan& span, VariantReport& out) {
  check_bytes(out);
  if (out.steps == 0) return;
  const auto steps = static_cast<double>(out.steps);
  out.bound.step_s = span.computation_s / steps;
  out.bound.by = fmt::format("computation of {}", member_name(facts, span.computed_by));
  for (auto& link : out.links) {
    if (!link.line) continue;
    // A last round whose votes to stop discarded it has moved bytes and is no step.
    const double rounds_in_steps = link.rounds == 0 ? 0 : steps / static_cast<double>(link.rounds * link.steps_per_round);
    if (span.end_s > 0) link.utilisation = static_cast<double>(link.bytes) * rounds_in_steps / (link.line->rate * span.end_s);
    const double step_s = link.closed_form_bytes_of_a_step / link.line->rate;
    if (step_s <= out.bound.step_s) continue;
    out.bound.step_s = step_s;
    out.bound.by = fmt::format("{} to {}", link.from, link.to);
  }
  if (span.end_s < steps * out.bound.step_s * (1 - kRounding)) {
    out.bound.violated.push_back(fmt::format("{} steps ended after {}, but {} needs {} for each: the time is below its lower bound",
                                             out.steps, format_seconds(span.end_s), out.bound.by, format_seconds(out.bound.step_s)));
  }
}

}  // namespace xdc
