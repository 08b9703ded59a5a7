// How wide is a text on a terminal? Names may be in any script.
#pragma once

#include <string>
#include <string_view>

namespace xdc {

// Columns of a UTF-8 text: 2 for East Asian wide characters and emoji, 0 for combining marks, 1 for others.
int display_width(std::string_view text);

std::string padded_left(std::string_view text, int width);
std::string padded_right(std::string_view text, int width);
// At most `width` columns, the last one an ellipsis where something was cut. Control characters become '?': a name cannot move
// the cursor. Requires width >= 1.
std::string shortened_to(std::string_view text, int width);

}  // namespace xdc
