#include "core/report/verdicts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "core/base/quantity.hpp"
#include "core/report/flip.hpp"
#include "core/report/step_model.hpp"
#include "core/report/text.hpp"

namespace xdc {
namespace {

using Finished = std::vector<const VariantReport*>;
using Score = std::function<std::optional<double>(const VariantReport&)>;

std::string short_name(const VariantReport& variant) { return shortened_to(variant.name, kVariantNameWidth); }

std::string times_text(double ratio) { return ratio >= 9.95 ? fmt::format("{:.0f}×", ratio) : fmt::format("{:.1f}×", ratio); }

struct Ranking {
  std::vector<std::pair<double, const VariantReport*>> order;  // best first, ties in the order of the scenario

  bool empty() const { return order.empty(); }
  const VariantReport& best() const { return *order.front().second; }
  const VariantReport& worst() const { return *order.back().second; }
  bool all_alike() const { return order.front().first == order.back().first; }
};

Ranking ranked(const Finished& variants, const Score& score) {
  Ranking out;
  for (const auto* variant : variants) {
    if (const auto value = score(*variant)) out.order.emplace_back(*value, variant);
  }
  std::stable_sort(out.order.begin(), out.order.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  // The first of the worst, not the last.
  for (auto& entry : out.order) {
    if (entry.first == out.order.back().first) {
      std::swap(entry.second, out.order.back().second);
      break;
    }
  }
  return out;
}

Verdict verdict_of(std::string what, const Ranking& ranking, const std::function<std::string(double)>& text, bool as_ratio) {
  Verdict out;
  out.what = std::move(what);
  const auto [best, worst] = std::pair(ranking.order.front().first, ranking.order.back().first);
  out.value = text(best);
  if (ranking.order.size() < 2) {
    out.best = {short_name(ranking.best())};
  } else if (ranking.all_alike()) {
    out.compared = "all alike";
  } else {
    for (const auto& [value, variant] : ranking.order) {
      if (value == best) out.best.push_back(short_name(*variant));
    }
    out.compared = fmt::format("{}: {}{}", short_name(ranking.worst()), text(worst),
                               as_ratio && best > 0 ? ", " + times_text(worst / best) : std::string());
  }
  return out;
}

std::string share_text(double part) {
  constexpr double kLeast = 0.001;
  return part > 0 && part < kLeast ? "under 0.1 %" : percent_text(part, part >= 0.0995 || part == 0 ? 0 : 1);
}

// What a step of it waits for, by formula where the formula meets the run, else by what was measured alone.
std::string limits_of(const VariantReport& v) {
  if (v.step_mean_s <= 0) return {};
  const auto parts = model_doubt(v).empty() ? step_parts(v) : std::nullopt;
  if (parts && parts->line) {
    const auto& link = v.links[*parts->line];
    std::vector<std::pair<double, std::string>> shares{
        {parts->latency_s, fmt::format("latency ({:.3g} crossing{} in a row)", parts->crossings, parts->crossings == 1 ? "" : "s")},
        {parts->rate_s, fmt::format("the rate of {} → {}", shortened_to(link.from, 16), shortened_to(link.to, 16))},
        {parts->compute_s, "computation"}};
    const double rest = left_out(v);
    const double whole = rest > 0 ? v.step_mean_s : parts->seconds();
    if (rest > 0) shares.emplace_back(rest * whole, "what the formula leaves out");
    std::stable_sort(shares.begin(), shares.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    std::string out = short_name(v) + ": ";
    for (size_t i = 0; i < shares.size(); ++i) {
      out += fmt::format("{}{} {}", i == 0 ? "" : ", ", share_text(shares[i].first / whole), shares[i].second);
    }
    return out;
  }
  std::string out = fmt::format("{}: {} computation of the slowest rank", short_name(v), share_text(v.compute_s / v.step_mean_s));
  if (const auto* link = v.busiest_line()) {
    out += fmt::format("; its busiest line, {} → {}, is used {} of the time", shortened_to(link->from, 16), shortened_to(link->to, 16),
                       share_text(link->utilisation));
  }
  return out;
}

std::string why_time(const Ranking& ranking) {
  if (ranking.order.size() < 2 || ranking.all_alike()) return {};
  return limits_of(ranking.worst()) + "; " + limits_of(ranking.best());
}

std::string why_bytes(const Ranking& ranking) {
  if (ranking.order.size() < 2 || ranking.all_alike()) return {};
  const auto most = [](const VariantReport& v) {
    const auto link = std::max_element(v.links.begin(), v.links.end(), [](const auto& a, const auto& b) {
      return a.payload_bytes_per_step() < b.payload_bytes_per_step();
    });
    return fmt::format("{}: at most {} a step on a line, {} → {}", short_name(v), format_bytes(link->payload_bytes_per_step()),
                       shortened_to(link->from, 16), shortened_to(link->to, 16));
  };
  return most(ranking.worst()) + "; " + most(ranking.best());
}

std::string why_cost(const Ranking& ranking) {
  if (ranking.order.size() < 2 || ranking.all_alike()) return {};
  const auto halves = [](const VariantReport& v) {
    return fmt::format("{}: devices {}, egress {}", short_name(v), money_text(v.cost.devices), money_text(v.cost.egress));
  };
  return halves(ranking.worst()) + "; " + halves(ranking.best());
}

bool same_samples(const Finished& variants) {
  return std::all_of(variants.begin(), variants.end(), [&](const auto* v) { return v->samples == variants.front()->samples; });
}

bool same_steps(const Finished& variants) {
  return std::all_of(variants.begin(), variants.end(), [&](const auto* v) { return v->steps == variants.front()->steps; });
}

Verdict best_for_time(const RunReport& report, const Finished& variants) {
  const bool reached = report.target && std::any_of(variants.begin(), variants.end(), [](const auto* v) { return v->time_to_target_s; });
  Score score;
  std::function<std::string(double)> text;
  if (reached) {
    score = [](const auto& v) { return v.time_to_target_s; };
    text = [&](double s) { return fmt::format("{} after {}", target_text(*report.target), format_seconds(s)); };
  } else if (same_steps(variants) && same_samples(variants)) {
    score = [](const auto& v) { return std::optional(v.step_mean_s); };
    text = [](double s) { return fmt::format("{} a step", format_seconds(s)); };
  } else {
    // Steps of different sizes are no measure.
    constexpr double kThousand = 1000;
    score = [](const auto& v) { return v.samples_per_s > 0 ? std::optional(kThousand / v.samples_per_s) : std::nullopt; };
    text = [](double s) { return fmt::format("{} for 1,000 samples", format_seconds(s)); };
  }
  const auto ranking = ranked(variants, score);
  if (ranking.empty()) return {};
  auto out = verdict_of("time", ranking, text, true);
  out.why = why_time(ranking);
  if (ranking.order.size() > 1 && ranking.order[0].first < ranking.order[1].first) {
    out.flip = flip_text({&ranking.best(), ranking.order[0].first}, {ranking.order[1].second, ranking.order[1].first});
  }
  return out;
}

}  // namespace

std::vector<Verdict> verdicts(const RunReport& report) {
  Finished variants;
  for (const auto& variant : report.variants) {
    if (variant.error.empty()) variants.push_back(&variant);
  }
  if (variants.size() < 2) return {};
  std::vector<Verdict> out;
  if (auto time = best_for_time(report, variants); !time.what.empty()) out.push_back(std::move(time));
  const auto add = [&](std::string what, const Score& score, const std::function<std::string(double)>& text, bool as_ratio,
                       std::string (*why)(const Ranking&)) {
    const auto ranking = ranked(variants, score);
    if (ranking.empty()) return;
    out.push_back(verdict_of(std::move(what), ranking, text, as_ratio));
    if (why != nullptr) out.back().why = why(ranking);
  };
  // Steps of different sizes are no measure.
  const bool by_step = same_steps(variants) && same_samples(variants);
  const bool has_lines = std::all_of(variants.begin(), variants.end(), [](const auto* v) { return !v->links.empty(); });
  add(
      "bytes",
      [by_step](const auto& v) {
        if (by_step || v.samples == 0) return std::optional(v.wan_bytes_per_step());
        return std::optional(v.wan_bytes_per_step() * static_cast<double>(v.steps) / static_cast<double>(v.samples) * 1000);
      },
      [by_step](double b) { return fmt::format("{} {} between datacenters", format_bytes(b), by_step ? "a step" : "for 1,000 samples"); },
      true, has_lines ? why_bytes : nullptr);
  add(
      "accuracy", [](const auto& v) { return v.accuracy ? std::optional(-*v.accuracy) : std::nullopt; },
      [](double a) { return percent_text(-a, 2); }, false, nullptr);
  const bool to_target = std::any_of(variants.begin(), variants.end(), [](const auto* v) { return v->cost.to_target; });
  add(
      "cost", [to_target](const auto& v) { return to_target ? v.cost.to_target : v.cost.total; },
      [&](double c) { return to_target ? fmt::format("{} to {}", money_text(c), target_text(*report.target)) : money_text(c); }, true,
      why_cost);
  return out;
}

std::string samples_text(const RunReport& report) {
  int64_t least = -1, most = -1;
  for (const auto& variant : report.variants) {
    if (!variant.error.empty()) continue;
    least = least < 0 ? variant.samples : std::min(least, variant.samples);
    most = std::max(most, variant.samples);
  }
  return least == most ? std::string()
                       : fmt::format("the variants stopped after {} to {} samples: accuracies, losses and totals are not at equal samples",
                                     least, most);
}

std::string target_text(const TargetReport& target) {
  return target.metric == "accuracy" ? fmt::format("{:g} %", target.value * 100) : fmt::format("loss {:g}", target.value);
}

std::string percent_text(double part, int digits) { return fmt::format("{:.{}f} %", part * 100, digits); }

std::string money_text(std::optional<double> amount) {
  if (!amount) return "not priced";
  return *amount >= 100 || *amount == 0 ? fmt::format("{:.0f}", *amount) : fmt::format("{:.3g}", *amount);
}

}  // namespace xdc
