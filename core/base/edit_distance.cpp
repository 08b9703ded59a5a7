#include "core/base/edit_distance.hpp"

#include <algorithm>
#include <cctype>

namespace xdc {
namespace {

std::string lower_case(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

}  // namespace

int edit_distance(std::string_view a, std::string_view b) {
  std::vector<int> before(b.size() + 1), previous(b.size() + 1), current(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) previous[j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    current[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const int replaced = previous[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      current[j] = std::min({previous[j] + 1, current[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) current[j] = std::min(current[j], before[j - 2] + 1);
    }
    std::swap(before, previous);
    std::swap(previous, current);
  }
  return previous[b.size()];
}

std::string nearest_of(std::string_view word, const std::vector<std::string>& candidates) {
  constexpr size_t kLongestWord = 128;  // nobody mistypes more than that
  if (word.empty() || word.size() > kLongestWord) return {};
  const auto plain = lower_case(word);
  std::string best;
  int best_distance = 0;
  for (const auto& candidate : candidates) {
    if (candidate.empty() || candidate.size() > kLongestWord) continue;
    // In half edits, so that a word that differs in case alone is nearer than any that differs in letters.
    const int distance = 2 * edit_distance(plain, lower_case(candidate)) + (word == candidate ? 0 : 1);
    const auto allowed = std::max<size_t>(1, std::max(word.size(), candidate.size()) / 3);
    if (distance > 2 * static_cast<int>(allowed) + 1) continue;
    if (best.empty() || distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace xdc
