#include "core/report/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "core/base/quantity.hpp"
#include "core/report/text.hpp"

namespace xdc {
namespace {

constexpr const char* kUnknown = "–";
constexpr int kNameWidth = 28;
constexpr int kGap = 2;

enum class Ink { plain, bold, dim, best, bad };

class Pen {
 public:
  explicit Pen(const TableStyle& style) : colour_(style.colour) {}
  std::string operator()(Ink ink, std::string_view text) const {
    if (!colour_ || ink == Ink::plain) return std::string(text);
    const char* code = ink == Ink::bold ? "1" : ink == Ink::dim ? "2" : ink == Ink::best ? "32" : "31";
    return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
  }

 private:
  bool colour_;
};

struct Cell {
  std::string text;
  Ink ink = Ink::plain;
};

struct Column {
  std::string above, title;  // two lines of heading
  std::vector<Cell> cells;

  int width() const {
    int out = std::max(display_width(above), display_width(title));
    for (const auto& cell : cells) out = std::max(out, display_width(cell.text));
    return out;
  }
};

std::string without_trailing_blanks(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

// The first column stands to the left, the others to the right.
std::string draw(const std::vector<Column>& columns, const Pen& pen) {
  const auto line = [&](const std::function<Cell(const Column&)>& pick) {
    std::string out;
    for (size_t c = 0; c < columns.size(); ++c) {
      const auto cell = pick(columns[c]);
      const int width = columns[c].width();
      const auto blanks = std::string(static_cast<size_t>(width - display_width(cell.text)), ' ');
      const auto text = cell.text.empty() ? std::string() : pen(cell.ink, cell.text);
      out += c == 0 ? text + blanks : std::string(kGap, ' ') + blanks + text;
    }
    return without_trailing_blanks(out) + "\n";
  };
  int width = 0;
  for (size_t c = 0; c < columns.size(); ++c) width += columns[c].width() + (c == 0 ? 0 : kGap);
  std::string rule;
  for (int i = 0; i < width; ++i) rule += "─";
  std::string out = line([](const Column& column) { return Cell{column.above, Ink::bold}; });
  out += line([](const Column& column) { return Cell{column.title, Ink::bold}; });
  out += pen(Ink::dim, rule) + "\n";
  for (size_t row = 0; row < columns.front().cells.size(); ++row) {
    out += line([row](const Column& column) { return column.cells[row]; });
  }
  return out;
}

std::string percent(double part, int digits) { return fmt::format("{:.{}f} %", part * 100, digits); }

std::string money(std::optional<double> amount) {
  if (!amount) return "not priced";
  return *amount >= 100 || *amount == 0 ? fmt::format("{:.0f}", *amount) : fmt::format("{:.3g}", *amount);
}

std::string target_text(const TargetReport& target) {
  return target.metric == "accuracy" ? fmt::format("{:g} %", target.value * 100) : fmt::format("loss {:g}", target.value);
}

using Finished = std::vector<const VariantReport*>;
// What a column is judged by: less is better; nullopt is not judged.
using Score = std::function<std::optional<double>(const VariantReport&)>;

std::optional<double> least(const Finished& variants, const Score& score) {
  std::optional<double> out;
  for (const auto* variant : variants) {
    const auto value = score(*variant);
    if (value && (!out || *value < *out)) out = value;
  }
  return out;
}

Column judged(std::string above, std::string title, const Finished& variants, const std::function<std::string(const VariantReport&)>& text,
              const Score& score) {
  Column out{std::move(above), std::move(title), {}};
  const auto best = variants.size() > 1 ? least(variants, score) : std::nullopt;
  for (const auto* variant : variants) {
    const auto value = score(*variant);
    out.cells.push_back({text(*variant), best && value == best ? Ink::best : Ink::plain});
  }
  return out;
}

Column names(const Finished& variants) {
  Column out{"", "variant", {}};
  for (const auto* variant : variants) out.cells.push_back({shortened_to(variant->name, kNameWidth), Ink::plain});
  return out;
}

std::optional<double> unjudged(const VariantReport&) { return std::nullopt; }

std::string or_unknown(std::optional<double> value, const std::function<std::string(double)>& text) {
  return value ? text(*value) : kUnknown;
}

std::string variants_table(const RunReport& report, const Finished& variants, const Pen& pen) {
  using V = const VariantReport&;
  std::vector<Column> columns{names(variants)};
  columns.push_back(judged(
      "step", "time", variants, [](V v) { return format_seconds(v.step_mean_s); }, [](V v) { return v.step_mean_s; }));
  columns.push_back(judged(
      "exposed", "comm", variants, [](V v) { return format_seconds(v.exposed_communication_s); },
      [](V v) { return v.exposed_communication_s; }));
  columns.push_back(judged(
      "devices", "busy", variants,
      [](V v) {
        return percent(v.device_utilisation, v.device_utilisation < 0.01 ? 2 : v.device_utilisation < 0.0995 ? 1 : 0);
      },
      [](V v) { return -v.device_utilisation; }));
  columns.push_back(judged(
      "WAN", "per step", variants, [](V v) { return format_bytes(v.wan_bytes_per_step()); }, [](V v) { return v.wan_bytes_per_step(); }));
  if (report.target) {
    columns.push_back(judged(
        "time to", target_text(*report.target), variants,
        [](V v) { return v.time_to_target_s ? format_seconds(*v.time_to_target_s)
                         : v.accuracy       ? "not reached"
                                            : kUnknown; },
        [](V v) { return v.time_to_target_s; }));
  }
  columns.push_back(judged(
      "final", "accuracy", variants, [](V v) { return or_unknown(v.accuracy, [](double x) { return percent(x, 2); }); },
      [](V v) { return v.accuracy ? std::optional(-*v.accuracy) : std::nullopt; }));
  columns.push_back(judged(
      "final", "loss", variants, [](V v) { return or_unknown(v.loss, [](double x) { return fmt::format("{:.4f}", x); }); }, unjudged));
  columns.push_back(judged(
      "time for", "all steps", variants, [](V v) { return format_seconds(v.elapsed_s); }, unjudged));
  columns.push_back(judged(
      "", "cost", variants, [](V v) { return money(v.cost.total); }, [](V v) { return v.cost.total; }));
  return draw(columns, pen);
}

// Lines of all variants in order of appearance, each direction a column; as many blocks as the width asks for.
std::string lines_table(const Finished& variants, const TableStyle& style, const Pen& pen) {
  std::vector<Column> lines;
  bool as_closed_form = true;
  for (const auto* variant : variants) {
    for (const auto& link : variant->links) {
      const auto from = shortened_to(link.from, 16) + " →";
      const auto to = shortened_to(link.to, 18);
      const auto known = std::any_of(lines.begin(), lines.end(), [&](const Column& c) { return c.above == from && c.title == to; });
      if (!known) lines.push_back({from, to, {}});
      as_closed_form = as_closed_form && link.payload_bytes == link.closed_form_bytes_per_round * link.rounds;
    }
  }
  if (lines.empty()) return {};
  for (auto& line : lines) {
    for (const auto* variant : variants) {
      const auto found = std::find_if(variant->links.begin(), variant->links.end(), [&](const LinkReport& link) {
        return shortened_to(link.from, 16) + " →" == line.above && shortened_to(link.to, 18) == line.title;
      });
      line.cells.push_back({found == variant->links.end() ? kUnknown : format_bytes(found->payload_bytes_per_step()), Ink::plain});
    }
  }
  auto out = pen(Ink::bold, "Payload per step on each line") +
             pen(Ink::dim, as_closed_form ? " (equal to the closed forms)" : " (NOT equal to the closed forms, see the JSON)") + "\n";
  size_t at = 0;
  while (at < lines.size()) {
    std::vector<Column> block{names(variants)};
    int width = block.front().width();
    while (at < lines.size() && (block.size() == 1 || width + kGap + lines[at].width() <= style.width)) {
      width += kGap + lines[at].width();
      block.push_back(lines[at++]);
    }
    out += draw(block, pen);
    if (at < lines.size()) out += "\n";
  }
  return out;
}

std::string times_text(double ratio) { return ratio >= 9.95 ? fmt::format("{:.0f}×", ratio) : fmt::format("{:.1f}×", ratio); }

// "best for time   ring: 31.2 ms a step (central PS: 62.1 ms, 2.0×)"
std::string best_line(std::string_view what, const Finished& variants, const Score& score, const std::function<std::string(double)>& text,
                      bool as_ratio, const Pen& pen) {
  const VariantReport* worst = nullptr;
  std::string winners;
  int count = 0;
  const auto best = least(variants, score);
  if (!best) return {};
  for (const auto* variant : variants) {
    const auto value = score(*variant);
    if (!value) continue;
    ++count;
    if (value == best) winners += (winners.empty() ? "" : ", ") + shortened_to(variant->name, kNameWidth);
    if (worst == nullptr || *value > *score(*worst)) worst = variant;
  }
  const double worst_value = *score(*worst);
  std::string comparison;
  if (count > 1 && worst_value > *best) {
    comparison = fmt::format(" ({}: {}{})", shortened_to(worst->name, kNameWidth), text(worst_value),
                             as_ratio && *best > 0 ? fmt::format(", {}", times_text(worst_value / *best)) : "");
  } else if (count > 1) {
    comparison = " (all alike)";
    winners.clear();
  }
  const auto head = pen(Ink::bold, padded_right(fmt::format("best for {}", what), 20));
  return winners.empty() ? fmt::format("{}{}{}\n", head, text(*best), comparison)
                         : fmt::format("{}{}: {}{}\n", head, pen(Ink::best, winners), text(*best), comparison);
}

std::string best_words(const RunReport& report, const Finished& variants, const Pen& pen) {
  using V = const VariantReport&;
  std::string out;
  const bool reached =
      report.target && std::any_of(variants.begin(), variants.end(), [](const auto* v) { return v->time_to_target_s.has_value(); });
  if (reached) {
    out += best_line(
        "time", variants, [](V v) { return v.time_to_target_s; },
        [&](double s) { return fmt::format("{} after {}", target_text(*report.target), format_seconds(s)); }, true, pen);
  } else {
    out += best_line(
        "time", variants, [](V v) { return v.step_mean_s; }, [](double s) { return fmt::format("{} a step", format_seconds(s)); }, true,
        pen);
  }
  out += best_line(
      "bytes", variants, [](V v) { return v.wan_bytes_per_step(); },
      [](double b) { return fmt::format("{} a step between datacenters", format_bytes(b)); }, true, pen);
  out += best_line(
      "accuracy", variants, [](V v) { return v.accuracy ? std::optional(-*v.accuracy) : std::nullopt; },
      [](double a) { return percent(-a, 2); }, false, pen);
  out += best_line(
      "cost", variants, [](V v) { return v.cost.total; }, [](double c) { return money(c); }, true, pen);
  return out;
}

std::string head_line(const RunReport& report, const Finished& variants, const Pen& pen) {
  auto rest = fmt::format(": {} on {}", report.model, report.data);
  if (!variants.empty()) rest += fmt::format(", {} ranks in {} datacenters", variants.front()->ranks, report.datacenters.size());
  rest += fmt::format(", seed {}", report.seed);
  if (report.payload == "phantom") rest += ", phantom payload: time and bytes without arithmetic";
  if (report.numerics == "native") rest += ", native arithmetic";
  return pen(Ink::bold, report.scenario) + rest + "\n\n";
}

std::string remarks(const RunReport& report, const Pen& pen) {
  std::string out;
  for (const auto& variant : report.variants) {
    const auto name = shortened_to(variant.name, kNameWidth);
    if (!variant.error.empty()) out += fmt::format("{} {}\n", pen(Ink::bad, name + " did not finish:"), variant.error);
    for (const auto& warning : variant.warnings) out += fmt::format("{} {}\n", pen(Ink::bad, name + ": warning:"), warning);
    for (const auto& expectation : variant.expectations) {
      if (expectation.met == true) continue;
      out += expectation.value
                 ? fmt::format("{} {} = {}, but it is {:.6g}\n", pen(Ink::bad, name + ": expectation not met:"), expectation.key,
                               expectation.bound, *expectation.value)
                 : fmt::format("{}: {} = {} was not checked: the payload is phantom\n", name, expectation.key, expectation.bound);
    }
  }
  return out;
}

}  // namespace

std::string render_table(const RunReport& report, const TableStyle& style) {
  const Pen pen(style);
  Finished finished;
  for (const auto& variant : report.variants) {
    if (variant.error.empty()) finished.push_back(&variant);
  }
  std::string out = head_line(report, finished, pen);
  if (!finished.empty()) {
    out += variants_table(report, finished, pen) + "\n";
    if (auto lines = lines_table(finished, style, pen); !lines.empty()) out += lines + "\n";
  }
  if (finished.size() > 1) out += best_words(report, finished, pen);
  if (const auto words = remarks(report, pen); !words.empty()) out += (finished.size() > 1 ? "\n" : "") + words;
  return out;
}

}  // namespace xdc
