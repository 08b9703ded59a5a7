#include "core/config/value.hpp"

#include <fmt/format.h>

#include <type_traits>

namespace xdc {
namespace {

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string shortened(std::string_view text) {
  constexpr size_t kLongest = 60;
  if (text.size() <= kLongest) return quoted(text);
  auto cut = kLongest;
  while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xC0) == 0x80) --cut;  // not inside a UTF-8 character
  return quoted(std::string(text.substr(0, cut)) + "...");
}

void write(const Value& value, std::string& out) {
  std::visit(Overloaded{[&](const std::string& text) { out += quoted(text); },  //
                        [&](int64_t number) { out += fmt::format("{}", number); },
                        [&](double number) { out += fmt::format("{}", number); },  // the shortest text that reads back as the same double
                        [&](bool truth) { out += truth ? "true" : "false"; },
                        [&](const ValueArray& items) {
                          out += '[';
                          for (size_t i = 0; i < items.size(); ++i) {
                            if (i > 0) out += ',';
                            write(items[i], out);
                          }
                          out += ']';
                        },
                        [&](const ValueTable& table) {
                          out += '{';
                          bool first = true;
                          for (const auto& [key, item] : table) {
                            if (!first) out += ',';
                            first = false;
                            out += quoted(key);
                            out += ':';
                            write(item, out);
                          }
                          out += '}';
                        }},
             value.node);
}

}  // namespace

Value merged(const Value& base, const Value& over) {
  if (base.table() == nullptr || over.table() == nullptr) return over;
  Value out = base;
  auto& table = std::get<ValueTable>(out.node);
  for (const auto& [key, value] : *over.table()) {
    const auto found = table.find(key);
    if (found == table.end()) {
      table.emplace(key, value);
    } else {
      found->second = merged(found->second, value);
    }
  }
  out.where = over.where;
  out.key_where = over.key_where;
  return out;
}

std::string describe(const Value& value) {
  return std::visit(
      Overloaded{[](const std::string& text) { return "the text " + shortened(text); },
                 [](int64_t number) { return fmt::format("the number {}", number); },
                 [](double number) { return fmt::format("the number {}", number); },
                 [](bool truth) { return std::string(truth ? "true" : "false"); },
                 [](const ValueArray&) { return std::string("an array"); }, [](const ValueTable&) { return std::string("a table"); }},
      value.node);
}

std::string canonical_text(const Value& value) {
  std::string out;
  write(value, out);
  return out;
}

}  // namespace xdc
