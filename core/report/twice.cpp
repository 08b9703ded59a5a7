#include "core/report/twice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace xdc {
namespace {

constexpr size_t kFarAhead = size_t{8} << 20;

// Accounts without what may differ.
nlohmann::json account(MemberReport report) {
  report.wall.clear();
  return nlohmann::json::parse(to_json(report));
}

std::string first_line(std::string_view text) { return std::string(text.substr(0, text.find('\n'))); }

}  // namespace

void Twice::hear(int side, std::string_view text) {
  if (difference_) return;
  unmatched_[static_cast<size_t>(side)] += text;
  compare();
}

void Twice::ended(int side, std::vector<MemberReport> reports) {
  reports_[static_cast<size_t>(side)] = std::move(reports);
  compare();
}

bool Twice::too_far_ahead(int side) const { return unmatched_[static_cast<size_t>(side)].size() > kFarAhead; }

void Twice::compare() {
  if (difference_) return;
  auto& [a, b] = unmatched_;
  const size_t both = std::min(a.size(), b.size());
  const auto apart =
      static_cast<size_t>(std::mismatch(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(both), b.begin()).first - a.begin());
  const size_t line = apart == 0 ? std::string::npos : a.rfind('\n', apart - 1);
  const size_t matched = line == std::string::npos ? 0 : line + 1;
  events_ += std::count(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(matched), '\n');
  a.erase(0, matched);
  b.erase(0, matched);
  const bool differ = apart < both;
  const auto whole = [&](size_t side) { return unmatched_[side].find('\n') != std::string::npos || reports_[side]; };
  if (differ && whole(0) && whole(1)) {
    difference_ = Difference{events_ + 1, {first_line(a), first_line(b)}};
  } else if (!differ && reports_[0] && reports_[1]) {
    compare_ends();
  }
}

void Twice::compare_ends() {
  const auto& [a, b] = unmatched_;
  if (!a.empty() || !b.empty()) {
    const auto said = [](const std::string& text) { return text.empty() ? std::string("nothing more") : first_line(text); };
    difference_ = Difference{events_ + 1, {said(a), said(b)}};
    return;
  }
  const auto& first = *reports_[0];
  const auto& second = *reports_[1];
  if (first.size() != second.size()) {
    difference_ = Difference{0, {fmt::format("{} members", first.size()), fmt::format("{} members", second.size())}};
    return;
  }
  for (size_t m = 0; m < first.size(); ++m) {
    const auto one = account(first[m]), other = account(second[m]);
    const auto changes = nlohmann::json::diff(one, other);
    if (changes.empty()) continue;
    const auto path = changes[0].at("path").get<std::string>();
    const auto said = [&](const nlohmann::json& all) {
      const nlohmann::json::json_pointer pointer(path);
      return fmt::format("member {}, {} = {}", m, path, all.contains(pointer) ? all.at(pointer).dump() : "nothing");
    };
    difference_ = Difference{0, {said(one), said(other)}};
    return;
  }
}

}  // namespace xdc
