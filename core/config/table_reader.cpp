#include "core/config/table_reader.hpp"

#include <fmt/format.h>

#include <cmath>

#include "core/base/quantity.hpp"

namespace xdc {
namespace {

const ValueTable kEmptyTable;

std::string joined(const std::vector<std::string>& names) {
  std::string out;
  for (const auto& name : names) out += (out.empty() ? "\"" : ", \"") + name + '"';
  return out;
}

// "between 1 and 8", "at least 1" where the upper bound is only there to be finite.
std::string range_text(double least, double most) {
  constexpr double kHuge = 1e15;
  return most >= kHuge ? fmt::format("at least {}", least) : fmt::format("between {} and {}", least, most);
}

bool is_number(const Value& value) { return std::holds_alternative<int64_t>(value.node) || std::holds_alternative<double>(value.node); }

}  // namespace

TableReader::TableReader(const Value& table, std::string path, Diagnostics& diagnostics)
    : table_(table.table()), where_(table.where), path_(std::move(path)), diagnostics_(diagnostics) {
  if (table_ == nullptr) {
    diagnostics_.error(where_, path_, fmt::format("a table is wanted, not {}", describe(table)));
    table_ = &kEmptyTable;
  }
}

bool TableReader::has(std::string_view key) const { return table_->contains(key); }

SourceLocation TableReader::where(std::string_view key) const {
  const auto found = table_->find(key);
  return found == table_->end() ? where_ : found->second.where;
}

std::string TableReader::path_of(std::string_view key) const { return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key); }

void TableReader::error(std::string_view key, std::string message) { diagnostics_.error(where(key), path_of(key), std::move(message)); }

const Value* TableReader::find(std::string_view key) {
  known_.emplace(key);
  const auto found = table_->find(key);
  return found == table_->end() ? nullptr : &found->second;
}

void TableReader::wrong_kind(std::string_view key, const Value& value, std::string_view wanted) {
  error(key, fmt::format("{} is wanted, not {}", wanted, describe(value)));
}

std::optional<std::string> TableReader::text_of(std::string_view key) {
  const auto* value = find(key);
  if (value == nullptr) return std::nullopt;
  const auto* text = value->string();
  if (text == nullptr) {
    wrong_kind(key, *value, "a text in quotes");
    return std::nullopt;
  }
  return *text;
}

std::string TableReader::string(std::string_view key, std::string_view absent) { return text_of(key).value_or(std::string(absent)); }

std::string TableReader::required_string(std::string_view key) {
  if (!has(key)) {
    known_.emplace(key);
    error(key, "is required");
    return {};
  }
  const auto text = text_of(key);
  if (text && text->empty()) error(key, "must not be empty");
  return text.value_or("");
}

std::string TableReader::one_of(std::string_view key, const std::vector<std::string>& allowed, std::string_view absent) {
  const auto text = text_of(key);
  if (!text) return std::string(absent);
  for (const auto& name : allowed) {
    if (name == *text) return *text;
  }
  const auto near = nearest_name(*text, allowed);
  error(key, fmt::format("\"{}\" is not known here{}; allowed: {}", *text, near.empty() ? "" : fmt::format(", did you mean \"{}\"?", near),
                         joined(allowed)));
  return std::string(absent);
}

std::string TableReader::required_one_of(std::string_view key, const std::vector<std::string>& allowed) {
  if (!has(key)) {
    known_.emplace(key);
    error(key, fmt::format("is required; allowed: {}", joined(allowed)));
    return {};
  }
  return one_of(key, allowed, "");
}

bool TableReader::boolean(std::string_view key, bool absent) {
  const auto* value = find(key);
  if (value == nullptr) return absent;
  if (const auto* truth = std::get_if<bool>(&value->node)) return *truth;
  wrong_kind(key, *value, "true or false");
  return absent;
}

std::optional<int64_t> TableReader::optional_integer(std::string_view key, int64_t least, int64_t most) {
  const auto* value = find(key);
  if (value == nullptr) return std::nullopt;
  std::optional<int64_t> number;
  if (const auto* whole = std::get_if<int64_t>(&value->node)) {
    number = *whole;
  } else if (const auto* real = std::get_if<double>(&value->node)) {
    constexpr double kExact = 9007199254740992.0;  // 2^53
    if (std::fabs(*real) <= kExact && *real == std::floor(*real)) number = static_cast<int64_t>(*real);
  }
  if (!number) {
    wrong_kind(key, *value, "a whole number");
    return std::nullopt;
  }
  if (*number < least || *number > most) {
    error(key, fmt::format("{} is out of range: it must be {}", *number,
                           most >= int64_t{1} << 50 ? fmt::format("at least {}", least) : fmt::format("between {} and {}", least, most)));
    return std::nullopt;
  }
  return number;
}

int64_t TableReader::integer(std::string_view key, int64_t least, int64_t most, int64_t absent) {
  return optional_integer(key, least, most).value_or(absent);
}

std::optional<double> TableReader::optional_number(std::string_view key, double least, double most) {
  const auto* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!is_number(*value)) {
    wrong_kind(key, *value, "a number");
    return std::nullopt;
  }
  const auto* whole = std::get_if<int64_t>(&value->node);
  const double number = whole != nullptr ? static_cast<double>(*whole) : std::get<double>(value->node);
  if (!std::isfinite(number)) {
    error(key, fmt::format("a finite number is wanted, not {}", number));
    return std::nullopt;
  }
  if (number < least || number > most) {
    error(key, fmt::format("{} is out of range: it must be {}", number, range_text(least, most)));
    return std::nullopt;
  }
  return number;
}

double TableReader::number(std::string_view key, double least, double most, double absent) {
  return optional_number(key, least, most).value_or(absent);
}

const std::string* TableReader::quantity(std::string_view key, std::string_view example) {
  const auto* value = find(key);
  if (value == nullptr) return nullptr;
  const auto* text = value->string();
  if (text != nullptr) return text;
  if (is_number(*value)) {
    error(key, fmt::format("{} has no unit; write a text with a unit, as in \"{}\"", describe(*value), example));
  } else {
    wrong_kind(key, *value, fmt::format("a text with a unit, as in \"{}\",", example));
  }
  return nullptr;
}

std::optional<double> TableReader::bandwidth(std::string_view key) {
  constexpr double kMost = 1e15;  // bytes per second; beyond it times round to nothing
  const auto* text = quantity(key, "10 Gbps");
  if (text == nullptr) return std::nullopt;
  const auto value = parse_bandwidth(*text);
  if (!value.ok()) {
    error(key, value.error().message);
    return std::nullopt;
  }
  // Below one byte per second a transfer of a model outlasts the clock.
  if (value.value() < 1 || value.value() > kMost) {
    error(key, fmt::format("\"{}\" is out of range: a bandwidth lies between 8 bps and 8000 Tbps", *text));
    return std::nullopt;
  }
  return value.value();
}

std::optional<Duration> TableReader::duration(std::string_view key) {
  const auto* text = quantity(key, "80 ms");
  if (text == nullptr) return std::nullopt;
  const auto value = parse_duration(*text);
  if (!value.ok()) {
    error(key, value.error().message);
    return std::nullopt;
  }
  return value.value();
}

std::optional<int64_t> TableReader::bytes(std::string_view key) {
  const auto* text = quantity(key, "64 KB");
  if (text == nullptr) return std::nullopt;
  const auto value = parse_bytes(*text);
  if (!value.ok()) {
    error(key, value.error().message);
    return std::nullopt;
  }
  return value.value();
}

std::optional<double> TableReader::flops(std::string_view key) {
  constexpr double kMost = 1e21;
  const auto* text = quantity(key, "14 TFLOPS");
  if (text == nullptr) return std::nullopt;
  const auto value = parse_flops(*text);
  if (!value.ok()) {
    error(key, value.error().message);
    return std::nullopt;
  }
  if (value.value() < 1 || value.value() > kMost) {
    error(key, fmt::format("\"{}\" is out of range: it must be more than 1 FLOPS and less than 1,000,000 PFLOPS", *text));
    return std::nullopt;
  }
  return value.value();
}

std::vector<std::string> TableReader::strings(std::string_view key) {
  const auto* items = array(key);
  if (items == nullptr) return {};
  std::vector<std::string> out;
  for (const auto& item : *items->array()) {
    if (const auto* text = item.string()) {
      out.push_back(*text);
    } else {
      diagnostics_.error(item.where, fmt::format("{}[{}]", path_of(key), out.size()),
                         fmt::format("a text in quotes is wanted, not {}", describe(item)));
      return {};
    }
  }
  return out;
}

const Value* TableReader::table(std::string_view key) {
  const auto* value = find(key);
  if (value == nullptr || value->table() != nullptr) return value;
  wrong_kind(key, *value, "a table");
  return nullptr;
}

const Value* TableReader::array(std::string_view key) {
  const auto* value = find(key);
  if (value == nullptr || value->array() != nullptr) return value;
  wrong_kind(key, *value, "an array");
  return nullptr;
}

const Value* TableReader::any(std::string_view key) { return find(key); }

void TableReader::finish() {
  const std::vector<std::string> names(known_.begin(), known_.end());
  for (const auto& [key, value] : *table_) {
    if (known_.contains(key)) continue;
    const auto near = nearest_name(key, names);
    diagnostics_.error(value.key_where.line > 0 ? value.key_where : value.where, path_of(key),
                       near.empty() ? fmt::format("unknown key; known here: {}", joined(names))
                                    : fmt::format("unknown key, did you mean \"{}\"? known here: {}", near, joined(names)));
  }
}

}  // namespace xdc
