// How does a table of the tree become typed fields? Every key is asked for by name and kind; whatever nobody asked for is
// an error that offers the nearest name. Errors are collected, never thrown: a failed read returns the default.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/time.hpp"
#include "core/config/diagnostics.hpp"
#include "core/config/value.hpp"

namespace xdc {

class TableReader {
 public:
  // `path` is the dotted path of the table, empty at the root. A value that is no table is an error, and reads as empty.
  TableReader(const Value& table, std::string path, Diagnostics& diagnostics);

  bool has(std::string_view key) const;
  SourceLocation where(std::string_view key) const;  // of the key's value, or of the table where it is absent
  std::string path_of(std::string_view key) const;

  // Each names its key as known. With a default, an absent key gives the default; `required` makes absence an error.
  std::string string(std::string_view key, std::string_view absent);
  std::string required_string(std::string_view key);
  // One of `allowed`; an error lists them and offers the nearest.
  std::string one_of(std::string_view key, const std::vector<std::string>& allowed, std::string_view absent);
  std::string required_one_of(std::string_view key, const std::vector<std::string>& allowed);
  bool boolean(std::string_view key, bool absent);
  int64_t integer(std::string_view key, int64_t least, int64_t most, int64_t absent);
  std::optional<int64_t> optional_integer(std::string_view key, int64_t least, int64_t most);
  // Finite, least <= x <= most.
  double number(std::string_view key, double least, double most, double absent);
  std::optional<double> optional_number(std::string_view key, double least, double most);
  // A whole number may be written as 1e6.
  // Quantities are strings with a unit (core/base/quantity.hpp); a bare number is an error that says so.
  std::optional<double> bandwidth(std::string_view key);  // bytes per second, > 0
  std::optional<Duration> duration(std::string_view key);
  std::optional<int64_t> bytes(std::string_view key);
  std::optional<double> flops(std::string_view key);
  std::vector<std::string> strings(std::string_view key);

  // nullptr where absent (or of the wrong kind, which is reported).
  const Value* table(std::string_view key);
  const Value* array(std::string_view key);
  const Value* any(std::string_view key);

  void error(std::string_view key, std::string message);
  // Reports every key that was never asked for. Call last, once.
  void finish();

  Diagnostics& diagnostics() { return diagnostics_; }

 private:
  const Value* find(std::string_view key);
  void wrong_kind(std::string_view key, const Value& value, std::string_view wanted);
  std::optional<std::string> text_of(std::string_view key);
  const std::string* quantity(std::string_view key, std::string_view wanted);

  const ValueTable* table_;
  SourceLocation where_;
  std::string path_;
  Diagnostics& diagnostics_;
  std::set<std::string, std::less<>> known_;
};

}  // namespace xdc
