#include "core/report/step_model.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/quantity.hpp"

namespace xdc {
namespace {

struct Line {
  double rate = 0, latency_s = 0;
};

Line line_after(const VariantReport& variant, size_t index, const std::optional<LineChange>& change) {
  const auto& link = variant.links[index];
  Line out{link.line->rate, link.line->latency_s};
  if (!change) return out;
  const auto& changed = variant.links[change->link];
  if ((link.from == changed.from && link.to == changed.to) || (link.from == changed.to && link.to == changed.from)) {
    out.rate *= change->rate_factor;
    out.latency_s = change->latency_s.value_or(out.latency_s);
  }
  return out;
}

double bytes_per_step(const LinkReport& link) {
  return link.rounds == 0 ? 0 : static_cast<double>(link.bytes) / static_cast<double>(link.rounds * link.steps_per_round);
}

StepParts parts_of(const VariantReport& variant, const Chain& chain, const std::optional<LineChange>& change) {
  StepParts out;
  out.compute_s = chain.compute * variant.compute_s;
  double longest_leg = -1;
  for (const auto& leg : chain.legs) {
    double latency = 0;
    double busiest = 0;
    size_t narrowest = leg.route.front();
    for (const auto index : leg.route) {
      const auto line = line_after(variant, index, change);
      latency += line.latency_s;
      const double seconds = bytes_per_step(variant.links[index]) / line.rate;
      if (seconds > busiest) narrowest = index;
      busiest = std::max(busiest, seconds);
    }
    out.latency_s += leg.crossings * latency;
    out.rate_s += leg.share * busiest;
    out.crossings += leg.crossings * static_cast<double>(leg.route.size());
    const double seconds = leg.crossings * latency + leg.share * busiest;
    if (seconds > longest_leg) out.line = narrowest;
    longest_leg = std::max(longest_leg, seconds);
  }
  return out;
}

}  // namespace

std::optional<StepParts> step_parts(const VariantReport& variant, const std::optional<LineChange>& change) {
  if (variant.chains.empty() || variant.steps == 0) return std::nullopt;
  if (!std::all_of(variant.links.begin(), variant.links.end(), [](const auto& link) { return link.line.has_value(); })) return std::nullopt;
  std::optional<StepParts> out;
  for (const auto& chain : variant.chains) {
    const auto parts = parts_of(variant, chain, change);
    if (!out || parts.seconds() > out->seconds()) out = parts;
  }
  return out;
}

std::string model_doubt(const VariantReport& variant) {
  const auto known = [](const auto& link) { return link.line.has_value(); };
  if (!std::all_of(variant.links.begin(), variant.links.end(), known)) return "its messages do not take the topology's lines";
  const auto parts = step_parts(variant);
  if (!parts) return "there is no formula for the steps of its strategy";
  const double explained = parts->seconds() / variant.step_mean_s;
  if (explained >= kLeastExplained && explained <= 1 + kModelTolerance) return {};
  return fmt::format("the formula says {} a step, the run took {} ({})", format_seconds(parts->seconds()),
                     format_seconds(variant.step_mean_s),
                     explained < 1 ? std::string("the formula explains less than two thirds of it")
                                   : fmt::format("the formula is more than {:.0f} % above it", kModelTolerance * 100));
}

double left_out(const VariantReport& variant) {
  const double rest = 1 - step_parts(variant)->seconds() / variant.step_mean_s;
  return rest > kModelTolerance ? rest : 0;
}

double step_after(const VariantReport& variant, const LineChange& change) {
  return variant.step_mean_s + step_parts(variant, change)->seconds() - step_parts(variant)->seconds();
}

}  // namespace xdc
