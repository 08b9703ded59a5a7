// What did the user write, and where? A tree of values with their places; knows nothing of what they mean.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "core/base/result.hpp"
#include "core/config/diagnostics.hpp"

namespace xdc {

struct Value;
using ValueArray = std::vector<Value>;
using ValueTable = std::map<std::string, Value, std::less<>>;

struct Value {
  SourceLocation where;
  std::variant<std::string, int64_t, double, bool, ValueArray, ValueTable> node;
  SourceLocation key_where = {};  // of the key in front of the value; line 0 where there is none

  const ValueTable* table() const { return std::get_if<ValueTable>(&node); }
  const ValueArray* array() const { return std::get_if<ValueArray>(&node); }
  const std::string* string() const { return std::get_if<std::string>(&node); }
};

// Overlays `over` on `base`: tables merge key by key, anything else is replaced.
Value merged(const Value& base, const Value& over);

// "the text \"x\"", "the number 5", "a table": what messages call a value.
std::string describe(const Value& value);

// Canonical text (sorted keys, shortest numbers, no places): what a digest is taken of.
std::string canonical_text(const Value& value);

}  // namespace xdc
