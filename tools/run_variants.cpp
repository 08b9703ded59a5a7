#include "tools/run_variants.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/report/event_line.hpp"
#include "core/report/twice.hpp"
#include "tools/onlookers.hpp"

namespace xdc {
namespace {

std::vector<std::string> names_of(const std::vector<RunSpec>& specs, bool twice) {
  std::vector<std::string> names;
  for (const auto& spec : specs) {
    names.push_back(spec.variant);
    if (twice) names.push_back(spec.variant + " again");
  }
  return names;
}

Onlookers onlookers_of(const RunSpec& spec, const RunStyle& style, int first_process, const TaskVoice& voice) {
  auto out = style.timeline ? timeline_onlookers(spec, first_process, voice) : Onlookers{voice.progress};
  if (style.events) {
    out.event = [first = std::move(out.event), second = events_onlooker(spec, style.expand, voice)](const TraceEvent& event) {
      if (first) first(event);
      second(event);
    };
  }
  return out;
}

VariantRuns run_once(const std::vector<RunSpec>& specs, const RunStyle& style) {
  VariantRuns out;
  std::vector<Task> tasks;
  int processes = 0;
  for (const auto& spec : specs) {
    const int first_process = processes + 1;
    processes += static_cast<int>(spec.cluster().datacenters.size());
    tasks.emplace_back([&spec, &style, first_process](const TaskVoice& voice) {
      return simulate(spec, onlookers_of(spec, style, first_process, voice), style.expand);
    });
  }
  SideBySideOptions options{style.jobs};
  const auto names = names_of(specs, false);
  options.progress = [&](const std::vector<double>& parts) {
    if (style.progress) style.progress(names, parts);
  };
  if (style.timeline) {
    out.timelines.resize(specs.size());
    options.text = [&](size_t task, std::string_view text) { out.timelines[task] += text; };
  }
  if (style.events) {
    out.events_said.resize(specs.size());
    options.events = [&](size_t task, std::string_view text) { out.events_said[task] += text; };
  }
  out.outcomes = run_side_by_side(tasks, options, out.interrupted);
  for (auto& said : out.events_said) said = sorted_by_time(said);
  return out;
}

// Task 2v is variant v, task 2v + 1 the same again.
class Pairs {
 public:
  explicit Pairs(const std::vector<RunSpec>& specs) : specs_(specs), pairs_(specs.size()), over_(2 * specs.size()) {}

  void hear(size_t task, std::string_view text) { pairs_[task / 2].hear(side(task), text); }

  void ended(size_t task, const TaskOutcome& outcome) {
    over_[task] = true;
    if (outcome.reports && outcome.reports->ok()) pairs_[task / 2].ended(side(task), outcome.reports->value());
  }

  bool waits(size_t task) const { return pairs_[task / 2].too_far_ahead(side(task)) && !over_[task ^ 1]; }

  bool enough() const {
    return std::any_of(pairs_.begin(), pairs_.end(), [](const Twice& pair) { return pair.difference().has_value(); });
  }

  std::string difference() const {
    for (size_t v = 0; v < pairs_.size(); ++v) {
      const auto& found = pairs_[v].difference();
      if (!found) continue;
      return fmt::format("{}: two runs differ {}\n  first run:  {}\n  second run: {}", specs_[v].variant,
                         found->event > 0 ? fmt::format("at event {}", found->event) : std::string("in their members' accounts"),
                         found->said[0], found->said[1]);
    }
    return {};
  }

  int64_t events() const {
    int64_t sum = 0;
    for (const auto& pair : pairs_) sum += pair.events();
    return sum;
  }

 private:
  static int side(size_t task) { return static_cast<int>(task % 2); }

  const std::vector<RunSpec>& specs_;
  std::vector<Twice> pairs_;
  std::vector<bool> over_;
};

VariantRuns run_twice(const std::vector<RunSpec>& specs, const RunStyle& style) {
  VariantRuns out;
  Pairs pairs(specs);
  std::vector<Task> tasks;
  for (const auto& spec : specs) {
    for (int run = 0; run < 2; ++run) {
      tasks.emplace_back([&](const TaskVoice& voice) { return simulate(spec, check_onlookers(spec, voice), style.expand); });
    }
  }
  SideBySideOptions options{std::max(2, style.jobs)};
  const auto names = names_of(specs, true);
  options.progress = [&](const std::vector<double>& parts) {
    if (style.progress) style.progress(names, parts);
  };
  options.text = [&](size_t task, std::string_view text) { pairs.hear(task, text); };
  options.ended = [&](size_t task, const TaskOutcome& outcome) { pairs.ended(task, outcome); };
  options.waits = [&](size_t task) { return pairs.waits(task); };
  options.enough = [&] { return pairs.enough(); };
  auto outcomes = run_side_by_side(tasks, options, out.interrupted);
  for (size_t v = 0; v < specs.size(); ++v) {
    auto& first = outcomes[2 * v];
    auto& second = outcomes[2 * v + 1];
    // One that failed is the variant's outcome, whichever it was.
    const bool second_failed = second.reports && !second.reports->ok();
    const bool both = first.reports && second.reports;
    out.outcomes.push_back(second_failed ? std::move(second) : both ? std::move(first) : TaskOutcome{});
  }
  out.difference = pairs.difference();
  out.events = pairs.events();
  return out;
}

}  // namespace

VariantRuns run_variants(const std::vector<RunSpec>& specs, const RunStyle& style) {
  return style.twice ? run_twice(specs, style) : run_once(specs, style);
}

}  // namespace xdc
