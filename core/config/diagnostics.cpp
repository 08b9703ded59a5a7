#include "core/config/diagnostics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "core/base/edit_distance.hpp"

namespace xdc {
namespace {

std::string place(const SourceLocation& where) {
  if (where.line <= 0) return where.file;
  return fmt::format("{}:{}:{}", where.file, where.line, where.column);
}

// "variant[2].train.stop" and "train.stop" are the same key when they are written at the same place.
std::string_view without_variant(std::string_view key) {
  if (!key.starts_with("variant[")) return key;
  const auto dot = key.find("].");
  return dot == std::string_view::npos ? key : key.substr(dot + 2);
}

}  // namespace

void Diagnostics::error(SourceLocation where, std::string key, std::string message) {
  errors_.push_back({std::move(where), std::move(key), std::move(message)});
}

std::string Diagnostics::text() const {
  std::vector<const Diagnostic*> ordered;
  for (const auto& error : errors_) ordered.push_back(&error);
  std::stable_sort(ordered.begin(), ordered.end(), [](const Diagnostic* a, const Diagnostic* b) {
    return std::tie(a->where.file, a->where.line, a->where.column) < std::tie(b->where.file, b->where.line, b->where.column);
  });
  std::set<std::string> said;
  std::string out;
  for (const auto* error : ordered) {
    const auto at = place(error->where);
    if (!said.insert(fmt::format("{}\n{}\n{}", at, without_variant(error->key), error->message)).second) continue;
    out += error->key.empty() ? fmt::format("{}: {}\n", at, error->message) : fmt::format("{}: {}: {}\n", at, error->key, error->message);
  }
  return out;
}

std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates) { return nearest_of(name, candidates); }

}  // namespace xdc
