#include "core/config/overrides.hpp"

#include <fmt/format.h>

#include <charconv>

#include "core/config/toml_reader.hpp"

namespace xdc {
namespace {

constexpr size_t kLongestPath = 32;

SourceLocation place_of(std::string_view text) { return {fmt::format("--set {}", text), 0, 0}; }

void set_places(Value& value, const SourceLocation& where) {
  value.where = where;
  value.key_where = where;
  if (auto* table = std::get_if<ValueTable>(&value.node)) {
    for (auto& [key, item] : *table) set_places(item, where);
  } else if (auto* items = std::get_if<ValueArray>(&value.node)) {
    for (auto& item : *items) set_places(item, where);
  }
}

// Reads steps up to the '=' outside of quotes, and leaves `at` on it.
class PathParser {
 public:
  explicit PathParser(std::string_view text) : text_(text) {}

  // The error, or empty.
  std::string parse(std::vector<PathStep>& out) {
    for (;;) {
      std::string key;
      if (auto why = step(key); !why.empty()) return why;
      if (key.empty()) return "a key is empty";
      out.push_back({std::move(key), std::nullopt});
      while (peek() == '[') {
        size_t index = 0;
        if (!element(index)) return "an element is written as in variant[0]";
        out.push_back({"", index});
      }
      if (out.size() > kLongestPath) return fmt::format("a key has at most {} parts", kLongestPath);
      if (peek() == '=') return {};
      if (peek() != '.') return at_ == text_.size() ? "there is no '='; write KEY=VALUE" : "a '.' or '=' is wanted after a part of the key";
      ++at_;
    }
  }

  size_t at() const { return at_; }

 private:
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  std::string step(std::string& key) {
    if (peek() == '"' || peek() == '\'') {
      const auto end = text_.find(text_[at_], at_ + 1);
      if (end == std::string_view::npos) return "a quote is not closed";
      key = text_.substr(at_ + 1, end - at_ - 1);
      at_ = end + 1;
      return {};
    }
    const auto end = std::min(text_.find_first_of(".[=", at_), text_.size());
    key = text_.substr(at_, end - at_);
    at_ = end;
    return {};
  }

  bool element(size_t& index) {
    const char* begin = text_.data() + at_ + 1;
    const auto [end, code] = std::from_chars(begin, text_.data() + text_.size(), index);
    if (code != std::errc() || end == text_.data() + text_.size() || *end != ']') return false;
    at_ = static_cast<size_t>(end - text_.data()) + 1;
    return true;
  }

  std::string_view text_;
  size_t at_ = 0;
};

// A TOML value; a text where it is none, unless it was plainly meant to be one.
std::optional<Value> parse_value(std::string_view text, const SourceLocation& where, Diagnostics& diagnostics) {
  const auto first = text.find_first_not_of(" \t");
  const bool meant = first != std::string_view::npos && std::string_view("{[\"'").find(text[first]) != std::string_view::npos;
  Diagnostics reading;
  if (text.find_first_of("\r\n") == std::string_view::npos) {
    auto tree = parse_toml(fmt::format("x = {}", text), where.file, reading);
    if (tree) {
      auto value = std::get<ValueTable>(tree->node).at("x");
      set_places(value, where);
      return value;
    }
  }
  if (meant) {
    diagnostics.error(where, "",
                      fmt::format("the value is no TOML: {}", reading.ok() ? "it has several lines" : reading.errors().front().message));
    return std::nullopt;
  }
  Value out{where, std::string(text)};
  out.key_where = where;
  return out;
}

}  // namespace

std::optional<Override> parse_override(std::string_view text, Diagnostics& diagnostics) {
  const auto where = place_of(text);
  Override out;
  PathParser parser(text);
  if (auto why = parser.parse(out.path); !why.empty()) {
    diagnostics.error(where, "", std::move(why));
    return std::nullopt;
  }
  out.text = text.substr(0, parser.at());
  auto value = parse_value(text.substr(parser.at() + 1), where, diagnostics);
  if (!value) return std::nullopt;
  out.value = std::move(*value);
  return out;
}

void apply_override(Value& root, const Override& change, size_t first, Diagnostics& diagnostics) {
  Value* at = &root;
  for (size_t i = first; i < change.path.size(); ++i) {
    const auto& step = change.path[i];
    if (step.index) {
      auto* items = std::get_if<ValueArray>(&at->node);
      if (items == nullptr || *step.index >= items->size()) {
        diagnostics.error(change.value.where, change.text,
                          items == nullptr
                              ? fmt::format("{} has no elements", describe(*at))
                              : fmt::format("there is no element {}; there are {}, counted from 0", *step.index, items->size()));
        return;
      }
      at = &(*items)[*step.index];
      continue;
    }
    auto* table = std::get_if<ValueTable>(&at->node);
    if (table == nullptr) {
      diagnostics.error(change.value.where, change.text, fmt::format("{} has no key \"{}\"", describe(*at), step.key));
      return;
    }
    // What is made on the way is an empty table at the place of the option.
    at = &table->try_emplace(step.key, Value{change.value.where, ValueTable{}, change.value.where}).first->second;
  }
  *at = change.value;
}

}  // namespace xdc
