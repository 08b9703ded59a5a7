#include "core/base/quantity.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <vector>

#include "core/base/edit_distance.hpp"

namespace xdc {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

struct Dimension {
  std::string_view what;  // "a bandwidth"
  std::string_view example;
  std::vector<Unit> units;
};

const Dimension& bandwidth_units() {
  static const Dimension d{"a bandwidth",
                           "10 Gbps",
                           {{"bps", 1.0 / 8},
                            {"kbps", 1e3 / 8},
                            {"Mbps", 1e6 / 8},
                            {"Gbps", 1e9 / 8},
                            {"Tbps", 1e12 / 8},
                            {"B/s", 1},
                            {"kB/s", 1e3},
                            {"MB/s", 1e6},
                            {"GB/s", 1e9},
                            {"TB/s", 1e12}}};
  return d;
}
const Dimension& duration_units() {
  static const Dimension d{
      "a duration", "80 ms", {{"ns", 1}, {"us", 1e3}, {"µs", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"min", 60e9}, {"h", 3600e9}}};
  return d;
}
const Dimension& byte_units() {
  static const Dimension d{"a size",
                           "64 KB",
                           {{"B", 1},
                            {"kB", 1e3},
                            {"KB", 1e3},
                            {"MB", 1e6},
                            {"GB", 1e9},
                            {"TB", 1e12},
                            {"KiB", 1024.0},
                            {"MiB", 1048576.0},
                            {"GiB", 1073741824.0},
                            {"TiB", 1099511627776.0}}};
  return d;
}
const Dimension& flops_units() {
  static const Dimension d{"a rate of arithmetic", "14 TFLOPS", {{"FLOPS", 1}, {"GFLOPS", 1e9}, {"TFLOPS", 1e12}, {"PFLOPS", 1e15}}};
  return d;
}

std::string names_of(const Dimension& d) {
  std::string out;
  for (const auto& unit : d.units) out += (out.empty() ? "" : ", ") + std::string(unit.name);
  return out;
}

Error bad(const Dimension& d, std::string_view text, std::string_view why) {
  return {ErrorCode::invalid, fmt::format("\"{}\" is not {}: {}", text, d.what, why)};
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t";
  const auto first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

// The number in units of factor 1: finite, at least 0.
Result<double> parse(const Dimension& d, std::string_view text) {
  const auto body = trimmed(text);
  double number = 0;
  const auto [end, code] = std::from_chars(body.data(), body.data() + body.size(), number);
  if (code == std::errc::invalid_argument) return bad(d, text, fmt::format("a number and a unit are wanted, as in \"{}\"", d.example));
  if (code == std::errc::result_out_of_range) return bad(d, text, "the number is out of range");
  const auto unit = trimmed(body.substr(static_cast<size_t>(end - body.data())));
  if (!std::isfinite(number)) return bad(d, text, "the number must be finite");
  if (number < 0) return bad(d, text, "it must not be negative");
  if (unit.empty()) return bad(d, text, fmt::format("the unit is missing, as in \"{}\" (units: {})", d.example, names_of(d)));
  std::vector<std::string> names;
  for (const auto& known : d.units) {
    if (known.name == unit) {
      const double value = number * known.factor;
      if (!std::isfinite(value)) return bad(d, text, "the number is out of range");
      return value;
    }
    names.emplace_back(known.name);
  }
  const auto near = nearest_of(unit, names);
  return bad(d, text,
             near.empty() ? fmt::format("unknown unit \"{}\" (units: {})", unit, names_of(d))
                          : fmt::format("unknown unit \"{}\", did you mean \"{}\"? (units: {})", unit, near, names_of(d)));
}

// A whole number: exactly, or as near as a decimal fraction times the unit comes in double.
std::optional<int64_t> whole(double value) {
  const double rounded = std::floor(value + 0.5);
  if (rounded >= 9.2e18 || std::fabs(value - rounded) > 4 * std::numeric_limits<double>::epsilon() * std::fabs(value)) return std::nullopt;
  return static_cast<int64_t>(rounded);
}

// Three significant digits without needless zeros: 14.2, 1.25, 1, 340.
std::string three_digits(double value) {
  const double magnitude = std::fabs(value);
  if (magnitude >= 99.95) return fmt::format("{:.0f}", value);
  auto text = fmt::format("{:.{}f}", value, magnitude >= 9.995 ? 1 : 2);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text;
}

struct Scale {
  double size;
  std::string_view unit;
};

// The largest unit that leaves at least 1 after rounding to three digits.
std::string scaled(double value, const std::vector<Scale>& scales) {
  for (const auto& scale : scales) {
    if (std::fabs(value) >= scale.size * 0.9995) return fmt::format("{} {}", three_digits(value / scale.size), scale.unit);
  }
  return fmt::format("{} {}", three_digits(value / scales.back().size), scales.back().unit);
}

}  // namespace

Result<double> parse_bandwidth(std::string_view text) { return parse(bandwidth_units(), text); }

Result<Duration> parse_duration(std::string_view text) {
  XDC_TRY_ASSIGN(const double ns, parse(duration_units(), text));
  if (ns >= 9.2e18) return bad(duration_units(), text, "it is longer than 290 years");
  if (ns > 0 && ns < 0.5) return bad(duration_units(), text, "time is counted in whole nanoseconds");
  return nanoseconds(static_cast<int64_t>(std::floor(ns + 0.5)));
}

Result<int64_t> parse_bytes(std::string_view text) {
  XDC_TRY_ASSIGN(const double bytes, parse(byte_units(), text));
  if (bytes >= 9.2e18) return bad(byte_units(), text, "it is more than 9.2 million TB");
  const auto count = whole(bytes);
  if (!count) return bad(byte_units(), text, "it is not a whole number of bytes");
  return *count;
}

Result<double> parse_flops(std::string_view text) { return parse(flops_units(), text); }

std::string format_seconds(double s) {
  if (s == 0) return "0 s";
  if (std::fabs(s) >= 3600 * 0.9995) return fmt::format("{} h", three_digits(s / 3600));
  if (std::fabs(s) >= 600 * 0.9995) return fmt::format("{} min", three_digits(s / 60));
  return scaled(s, {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}});
}

std::string format_duration(Duration d) { return format_seconds(to_seconds(d)); }

std::string format_bytes(double bytes) { return scaled(bytes, {{1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}, {1, "B"}}); }

std::string format_bandwidth(double bytes_per_second) {
  return scaled(bytes_per_second * 8, {{1e12, "Tbps"}, {1e9, "Gbps"}, {1e6, "Mbps"}, {1e3, "kbps"}, {1, "bps"}});
}

}  // namespace xdc
