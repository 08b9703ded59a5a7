// How far is one word from another? What "did you mean" is decided by.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace xdc {

// Insertions, deletions, replacements and swaps of neighbours that turn a into b (optimal string alignment).
int edit_distance(std::string_view a, std::string_view b);

// The candidate with the least edit distance, if that is at most a third of the longer word's length (and at least 1 is
// allowed); upper and lower case count as half different: compared without case first. Empty if none is near enough.
// Ties: the earlier candidate.
std::string nearest_of(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace xdc
