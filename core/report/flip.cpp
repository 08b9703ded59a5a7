#include "core/report/flip.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/quantity.hpp"
#include "core/report/step_model.hpp"
#include "core/report/text.hpp"
#include "core/report/verdicts.hpp"

namespace xdc {
namespace {

constexpr double kMostRateFactor = 1e4;
constexpr double kLeastLatencyFactor = 1e-3, kMostLatencyFactor = 1e3;

std::string name_of(const Contender& contender) { return shortened_to(contender.variant->name, kVariantNameWidth); }

double score_after(const Contender& contender, const LineChange& change) {
  return contender.score * step_after(*contender.variant, change) / contender.variant->step_mean_s;
}

// The factor nearest to 1 between 1 and `limit` at which second is as good as first.
template <class Change>
std::optional<double> crossing(const Contender& first, const Contender& second, double limit, const Change& change) {
  if (limit <= 0 || limit == 1) return std::nullopt;
  const auto behind = [&](double factor) {
    return score_after(second, change(second, factor)) - score_after(first, change(first, factor));
  };
  constexpr int kStretches = 400, kHalvings = 60;
  double before = 1;
  for (int i = 1; i <= kStretches; ++i) {
    double here = std::pow(limit, static_cast<double>(i) / kStretches);
    if (behind(here) >= 0) {
      before = here;
      continue;
    }
    for (int h = 0; h < kHalvings; ++h) {
      const double middle = std::sqrt(before * here);
      (behind(middle) >= 0 ? before : here) = middle;
    }
    return here;
  }
  return std::nullopt;
}

const LinkReport& slowest_line(const VariantReport& variant) {
  return *std::min_element(variant.links.begin(), variant.links.end(), [](const auto& a, const auto& b) {
    return a.line->rate != b.line->rate ? a.line->rate < b.line->rate : a.line->latency_s > b.line->latency_s;
  });
}

std::optional<size_t> index_of(const VariantReport& variant, const LinkReport& link) {
  for (size_t i = 0; i < variant.links.size(); ++i) {
    if (variant.links[i].from == link.from && variant.links[i].to == link.to) return i;
  }
  return std::nullopt;
}

// What the answer leans on.
std::string by_formula(const Contender& first, const Contender& second) {
  std::string out = "by formula";
  std::string rests;
  for (const auto* contender : {&first, &second}) {
    const double rest = left_out(*contender->variant);
    if (rest == 0) continue;
    rests += fmt::format("{}{:.0f} % of a step of {}", rests.empty() ? "" : " and ", rest * 100, name_of(*contender));
  }
  return rests.empty() ? out : out + "; it leaves out " + rests + ", taken to stay as it is";
}

struct Flip {
  double factor = 1;
  bool latency = false;
  double distance() const { return std::fabs(std::log(factor)); }
};

}  // namespace

std::string flip_text(const Contender& first, const Contender& second) {
  for (const auto* contender : {&first, &second}) {
    if (const auto doubt = model_doubt(*contender->variant); !doubt.empty()) {
      return fmt::format("cannot tell where: {}: {}", name_of(*contender), doubt);
    }
  }
  const auto& link = slowest_line(*first.variant);
  const auto line = *link.line;
  const auto at = index_of(*second.variant, link);
  if (!at) return fmt::format("cannot tell where: {} and {} have different lines", name_of(first), name_of(second));
  const auto index = [&](const Contender& c) { return &c == &second ? *at : *index_of(*first.variant, link); };
  const auto with_rate = [&](const Contender& c, double factor) { return LineChange{index(c), factor, std::nullopt}; };
  const auto with_latency = [&](const Contender& c, double factor) { return LineChange{index(c), 1, line.latency_s * factor}; };
  const double least = std::max(kLeastLatencyFactor, line.latency_s > 0 ? line.least_latency_s / line.latency_s : 1);
  const double most = std::min(kMostLatencyFactor, line.latency_s > 0 ? line.most_latency_s / line.latency_s : 1);

  std::optional<Flip> nearest;
  const auto consider = [&](std::optional<double> factor, bool latency) {
    if (!factor) return;
    const Flip flip{*factor, latency};
    if (!nearest || flip.distance() < nearest->distance()) nearest = flip;
  };
  consider(crossing(first, second, 1 / kMostRateFactor, with_rate), false);
  consider(crossing(first, second, kMostRateFactor, with_rate), false);
  consider(crossing(first, second, least, with_latency), true);
  consider(crossing(first, second, most, with_latency), true);

  const auto ends = fmt::format("{} ↔ {}", shortened_to(link.from, 16), shortened_to(link.to, 16));
  if (!nearest) {
    return fmt::format("{} stays ahead of {} whatever bandwidth {} has{}, {}", name_of(first), name_of(second), ends,
                       least < most ? fmt::format(", and at any latency from {} to {}", format_seconds(line.latency_s * least),
                                                  format_seconds(line.latency_s * most))
                                    : "",
                       by_formula(first, second));
  }
  const bool down = nearest->factor < 1;
  if (nearest->latency) {
    return fmt::format("{} overtakes {} where the latency of {} is {} about {} (now {}), {}", name_of(second), name_of(first), ends,
                       down ? "below" : "above", format_seconds(line.latency_s * nearest->factor), format_seconds(line.latency_s),
                       by_formula(first, second));
  }
  return fmt::format("{} overtakes {} where {} has {} than about {} (now {}), {}", name_of(second), name_of(first), ends,
                     down ? "less" : "more", format_bandwidth(line.rate * nearest->factor), format_bandwidth(line.rate),
                     by_formula(first, second));
}

}  // namespace xdc
