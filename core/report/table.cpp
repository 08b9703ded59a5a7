#include "core/report/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "core/base/quantity.hpp"
#include "core/report/text.hpp"
#include "core/report/verdicts.hpp"

namespace xdc {
namespace {

constexpr const char* kUnknown = "–";
constexpr int kNameWidth = kVariantNameWidth;
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

std::string busy(double part) { return percent_text(part, part < 0.01 ? 2 : part < 0.0995 ? 1 : 0); }

void add_costs(const RunReport& report, const Finished& variants, std::vector<Column>& columns) {
  using V = const VariantReport&;
  const auto priced = [](V v) { return v.cost.devices || v.cost.egress; };
  if (std::none_of(variants.begin(), variants.end(), [&](const auto* v) { return priced(*v); })) return;
  columns.push_back(judged(
      "", "cost", variants, [](V v) { return money_text(v.cost.total); }, [](V v) { return v.cost.total; }));
  if (!report.target || std::none_of(variants.begin(), variants.end(), [](const auto* v) { return v->cost.to_target; })) return;
  columns.push_back(judged(
      "cost to", target_text(*report.target), variants, [](V v) { return v.cost.to_target ? money_text(v.cost.to_target) : kUnknown; },
      [](V v) { return v.cost.to_target; }));
}

std::vector<Column> variant_columns(const RunReport& report, const Finished& variants) {
  using V = const VariantReport&;
  std::vector<Column> columns{names(variants)};
  columns.push_back(judged(
      "step", "time", variants, [](V v) { return format_seconds(v.step_mean_s); }, [](V v) { return v.step_mean_s; }));
  columns.push_back(judged(
      "at", "least", variants, [](V v) { return format_seconds(v.bound.step_s); }, unjudged));
  columns.push_back(judged(
      "exposed", "comm", variants, [](V v) { return format_seconds(v.exposed_communication_s); },
      [](V v) { return v.exposed_communication_s; }));
  columns.push_back(judged(
      "devices", "busy", variants, [](V v) { return busy(v.device_utilisation); }, [](V v) { return -v.device_utilisation; }));
  if (std::any_of(variants.begin(), variants.end(), [](const auto* v) { return v->busiest_line() != nullptr; })) {
    columns.push_back(judged(
        "line", "busy", variants, [](V v) { return v.busiest_line() == nullptr ? kUnknown : busy(v.busiest_line()->utilisation); },
        unjudged));
  }
  columns.push_back(judged(
      "WAN", "per step", variants, [](V v) { return format_bytes(v.wan_bytes_per_step()); }, [](V v) { return v.wan_bytes_per_step(); }));
  const bool trained = std::any_of(variants.begin(), variants.end(), [](const auto* v) { return v->accuracy || v->loss; });
  if (report.target && trained) {
    columns.push_back(judged(
        "time to", target_text(*report.target), variants,
        [](V v) { return v.time_to_target_s ? format_seconds(*v.time_to_target_s)
                         : v.accuracy       ? "not reached"
                                            : kUnknown; },
        [](V v) { return v.time_to_target_s; }));
  }
  if (std::any_of(variants.begin(), variants.end(), [](const auto* v) { return v->accuracy.has_value(); })) {
    columns.push_back(judged(
        "final", "accuracy", variants, [](V v) { return or_unknown(v.accuracy, [](double x) { return percent_text(x, 2); }); },
        [](V v) { return v.accuracy ? std::optional(-*v.accuracy) : std::nullopt; }));
  }
  columns.push_back(judged(
      "time for", "all steps", variants, [](V v) { return format_seconds(v.elapsed_s); }, unjudged));
  add_costs(report, variants, columns);
  return columns;
}

// Where the columns are too many for the width, in blocks below each other, each with the names.
std::string draw_blocks(const std::vector<Column>& columns, const TableStyle& style, const Pen& pen) {
  std::string out;
  for (size_t at = 1; at < columns.size();) {
    std::vector<Column> block{columns.front()};
    int width = block.front().width();
    while (at < columns.size() && (block.size() == 1 || width + kGap + columns[at].width() <= style.width)) {
      width += kGap + columns[at].width();
      block.push_back(columns[at++]);
    }
    out += draw(block, pen);
    if (at < columns.size()) out += "\n";
  }
  return out;
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
      as_closed_form = as_closed_form && link.payload_bytes == link.closed_form_bytes;
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
  lines.insert(lines.begin(), names(variants));
  return out + draw_blocks(lines, style, pen);
}

// Below a heading, in as many lines as the width asks for.
std::string under(std::string_view head, std::string_view text, const TableStyle& style, const Pen& pen) {
  constexpr int kHead = 20, kLeast = 40;
  const int width = std::max(kLeast, style.width - kHead);
  std::string out = pen(Ink::bold, padded_right(head, kHead));
  std::string line;
  while (!text.empty()) {
    auto word = text.substr(0, text.find(' '));
    // A percentage stays with its number.
    if (text.substr(word.size(), 2) == " %") word = text.substr(0, text.find(' ', word.size() + 1));
    if (!line.empty() && display_width(line) + 1 + display_width(word) > width) {
      out += line + "\n" + std::string(kHead, ' ');
      line.clear();
    }
    if (!line.empty()) line += ' ';
    line += word;
    text.remove_prefix(std::min(text.size(), word.size() + 1));
  }
  return out + line + "\n";
}

std::string words(const RunReport& report, const TableStyle& style, const Pen& pen) {
  std::string out;
  for (const auto& verdict : verdicts(report)) {
    auto text = fmt::format("{}{}", fmt::join(verdict.best, ", "), verdict.best.empty() ? "" : ": ") + verdict.value;
    if (!verdict.compared.empty()) text += " (" + verdict.compared + ")";
    out += under("best for " + verdict.what, text, style, pen);
    if (!verdict.why.empty()) out += under("  why", verdict.why, style, pen);
    if (!verdict.flip.empty()) out += under("  would change", verdict.flip, style, pen);
  }
  return out;
}

// "lenet on mnist", or whose accuracy and whose time and bytes.
std::string subject(const RunReport& report) {
  const auto trained = fmt::format("{} on {}", report.model, report.data);
  if (report.cost_profile.empty()) return trained;
  if (!report.cost_profile_charged) return fmt::format("{}; cost profile {} not charged", trained, report.cost_profile);
  const auto charged = fmt::format("time and bytes: {}", report.cost_profile);
  return report.payload == "phantom" ? charged : fmt::format("accuracy: {}; {}", trained, charged);
}

std::string head_line(const RunReport& report, const Finished& variants, const Pen& pen) {
  auto rest = ": " + subject(report);
  if (!variants.empty()) rest += fmt::format(", {} ranks in {} datacenters", variants.front()->ranks, report.datacenters.size());
  rest += fmt::format(", seed {}", report.seed);
  if (report.rehearsal_waits) {
    rest += *report.rehearsal_waits ? ", a rehearsal: real bytes without contents, computations waited for as modelled"
                                    : ", a rehearsal: real bytes without contents, computations left out";
  } else if (report.payload == "phantom")
    rest += ", phantom payload: time and bytes without arithmetic";
  if (report.numerics == "native") rest += ", native arithmetic";
  return pen(Ink::bold, report.scenario) + rest + "\n\n";
}

// Which variants were simulated by fewer members than they have.
std::string folded_text(const Finished& variants) {
  std::string out;
  for (const auto* variant : variants) {
    const int members = variant->ranks + variant->servers;
    if (variant->actors == members) continue;
    out += fmt::format("{}{} by {} of its {} members", out.empty() ? "" : "; ", variant->name, variant->actors, members);
  }
  return out.empty() ? out : out + ": one acts for all that nothing tells apart from it";
}

// How old the parameters were that updates were computed from, where each push is one.
std::string staleness_text(const Finished& variants) {
  std::string out;
  for (const auto* variant : variants) {
    const auto& staleness = variant->staleness;
    if (staleness.histogram.empty()) continue;
    out += fmt::format("{}{}: {:.1f} on average, at most {} in 95 % of cases, {} at worst", out.empty() ? "" : "; ", variant->name,
                       staleness.mean(), staleness.percentile(0.95), staleness.most());
  }
  return out.empty() ? out : out + " (other updates between the read that one was computed from and its application)";
}

std::string remarks(const RunReport& report, const Pen& pen) {
  std::string out;
  for (const auto& variant : report.variants) {
    const auto name = shortened_to(variant.name, kNameWidth);
    if (!variant.error.empty()) out += fmt::format("{} {}\n", pen(Ink::bad, name + " did not finish:"), variant.error);
    for (const auto& violated : variant.bound.violated) out += fmt::format("{} {}\n", pen(Ink::bad, name + ": bound violated:"), violated);
    if (variant.resumed_at && variant.steps == 0 && !variant.stopped) {
      out += fmt::format("{}: resumed at step {}, where train.stop had been reached: no step was made; a later stop goes on\n", name,
                         *variant.resumed_at);
    } else if (variant.resumed_at) {
      out += fmt::format("{}: resumed at step {}; steps, times and bytes are those made since\n", name, *variant.resumed_at);
    }
    if (variant.stopped) out += fmt::format("{}: ended before its end, because it was asked to\n", name);
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
    out += draw_blocks(variant_columns(report, finished), style, pen) + "\n";
    if (auto lines = lines_table(finished, style, pen); !lines.empty()) out += lines + "\n";
  }
  out += words(report, style, pen);
  if (const auto samples = samples_text(report); !samples.empty()) out += under("samples", samples, style, pen);
  if (const auto stale = staleness_text(finished); !stale.empty()) out += under("staleness", stale, style, pen);
  if (const auto folded = folded_text(finished); !folded.empty()) out += under("simulated", folded, style, pen);
  if (!finished.empty() && std::none_of(finished.begin(), finished.end(), [](const auto* v) { return v->cost.total; })) {
    out += under("cost", "not priced: a topology's datacenters may have device_price_per_hour and egress_price_per_gb", style, pen);
  }
  if (const auto notes = remarks(report, pen); !notes.empty()) out += (finished.size() > 1 ? "\n" : "") + notes;
  return out;
}

}  // namespace xdc
