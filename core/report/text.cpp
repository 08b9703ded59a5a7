#include "core/report/text.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>

namespace xdc {
namespace {

struct Character {
  uint32_t code = 0;
  size_t bytes = 1;
};

// Bytes that are no UTF-8 count as one character each.
Character first_character(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto lead = byte(0);
  const size_t bytes = lead < 0x80 ? 1 : lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC2 ? 2 : 1;
  if (bytes == 1 || bytes > text.size()) return {lead < 0x80 ? lead : uint32_t{0xFFFD}, 1};
  uint32_t code = lead & (0x7FU >> bytes);
  for (size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {0xFFFD, 1};
    code = (code << 6) | (byte(i) & 0x3FU);
  }
  return {code, bytes};
}

int width_of(uint32_t code) {
  // Unicode's East Asian Width W and F, in the blocks that names are written in; combining marks take no room.
  static constexpr std::pair<uint32_t, uint32_t> kWide[] = {{0x1100, 0x115F},   {0x2E80, 0x303E},   {0x3041, 0x33FF},  {0x3400, 0x4DBF},
                                                            {0x4E00, 0x9FFF},   {0xA000, 0xA4CF},   {0xAC00, 0xD7A3},  {0xF900, 0xFAFF},
                                                            {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},  {0x1F300, 0x1F64F},
                                                            {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD}};
  static constexpr std::pair<uint32_t, uint32_t> kNone[] = {{0x0300, 0x036F}, {0x200B, 0x200F}, {0xFE00, 0xFE0F}};
  const auto within = [code](const auto& range) { return code >= range.first && code <= range.second; };
  if (std::any_of(std::begin(kNone), std::end(kNone), within)) return 0;
  return std::any_of(std::begin(kWide), std::end(kWide), within) ? 2 : 1;
}

}  // namespace

int display_width(std::string_view text) {
  int width = 0;
  while (!text.empty()) {
    const auto character = first_character(text);
    width += width_of(character.code);
    text.remove_prefix(character.bytes);
  }
  return width;
}

std::string padded_left(std::string_view text, int width) {
  return std::string(static_cast<size_t>(std::max(0, width - display_width(text))), ' ') + std::string(text);
}

std::string padded_right(std::string_view text, int width) {
  return std::string(text) + std::string(static_cast<size_t>(std::max(0, width - display_width(text))), ' ');
}

std::string shortened_to(std::string_view text, int width) {
  std::string out;
  const bool fits = display_width(text) <= width;
  int used = 0;
  while (!text.empty()) {
    const auto character = first_character(text);
    const int next = width_of(character.code);
    if (!fits && used + next > width - 1) return out + "…";
    used += next;
    if (character.code < 0x20 || character.code == 0x7F || (character.code >= 0x80 && character.code < 0xA0)) {
      out += '?';
    } else if (character.code == 0xFFFD) {
      out += "\xEF\xBF\xBD";
    } else {
      out += text.substr(0, character.bytes);
    }
    text.remove_prefix(character.bytes);
  }
  return out;
}

}  // namespace xdc
