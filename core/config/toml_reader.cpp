#include "core/config/toml_reader.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

// Header-only and without exceptions: a syntax error is a returned value here.
#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_UNRELEASED_FEATURES 0
#define TOML_MAX_NESTED_VALUES 32
#include <toml++/toml.h>

namespace xdc {
namespace {

constexpr int64_t kLargestFile = 16'000'000;
constexpr int kLongestDottedKey = 32;
constexpr int kDeepest = 64;

// What toml++ must not see. Its parser and the destructors of its tree recurse over the parts of a dotted key, so that a long
// enough one would end the stack; and its test for white space is undefined for many characters beyond ASCII, which TOML
// allows in strings and comments alone. This scan follows strings and comments; a text that misleads it is one that the parser
// refuses at that very place.
class Prescan {
 public:
  explicit Prescan(std::string_view text) : text_(text) {
    if (text_.starts_with("\xEF\xBB\xBF")) text_.remove_prefix(3);  // a byte-order mark
  }

  // What is wrong, or empty; then line() is where.
  std::string problem() {
    int dots = 0;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"' || c == '\'') {
        skip_string(c);
        continue;
      }
      if (c == '#') {
        skip_comment();
        continue;
      }
      if (static_cast<unsigned char>(c) >= 0x80) return "a character beyond ASCII stands outside of quotes";
      if (c == '\n') ++line_;
      if (std::strchr("\n=,[]{}", c) != nullptr && c != '\0') dots = 0;
      if (c == '.' && ++dots > kLongestDottedKey) return fmt::format("a key has more than {} parts", kLongestDottedKey);
      ++at_;
    }
    return {};
  }

  int line() const { return line_; }

 private:
  void skip_comment() {
    while (at_ < text_.size() && text_[at_] != '\n') ++at_;
  }

  bool triple(char quote) const { return text_.substr(at_, 3) == std::string(3, quote); }

  void skip_string(char quote) {
    const bool many_lines = triple(quote);
    at_ += many_lines ? 3 : 1;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\n') {
        if (!many_lines) return;
        ++line_;
      }
      if (c == '\\' && quote == '"' && at_ + 1 < text_.size() && text_[at_ + 1] != '\n') {
        at_ += 2;
        continue;
      }
      if (many_lines ? triple(quote) : c == quote) {
        at_ += many_lines ? 3 : 1;
        // A long string may end in up to two quotes of its own.
        for (int extra = 0; many_lines && extra < 2 && at_ < text_.size() && text_[at_] == quote; ++extra) ++at_;
        return;
      }
      ++at_;
    }
  }

  std::string_view text_;
  size_t at_ = 0;
  int line_ = 1;
};

class Conversion {
 public:
  Conversion(const std::string& name, Diagnostics& diagnostics) : name_(name), diagnostics_(diagnostics) {}

  std::optional<Value> value(const toml::node& node, const std::string& path, int depth) {
    const auto where = place(node.source());
    if (depth > kDeepest) return refuse(where, path, fmt::format("tables and arrays are nested more than {} deep", kDeepest));
    if (const auto* text = node.as_string()) return Value{where, text->get()};
    if (const auto* number = node.as_integer()) return Value{where, number->get()};
    if (const auto* number = node.as_floating_point()) return Value{where, number->get()};
    if (const auto* truth = node.as_boolean()) return Value{where, truth->get()};
    if (const auto* items = node.as_array()) return array(*items, where, path, depth);
    if (const auto* items = node.as_table()) return table(*items, where, path, depth);
    return refuse(where, path, "dates and times of day have no meaning here; a span of time is written as in \"80 ms\"");
  }

 private:
  std::optional<Value> array(const toml::array& items, const SourceLocation& where, const std::string& path, int depth) {
    ValueArray out;
    bool complete = true;
    for (const auto& item : items) {
      auto converted = value(item, fmt::format("{}[{}]", path, out.size()), depth + 1);
      complete = complete && converted.has_value();
      if (converted) out.push_back(std::move(*converted));
    }
    if (!complete) return std::nullopt;
    return Value{where, std::move(out)};
  }

  std::optional<Value> table(const toml::table& items, const SourceLocation& where, const std::string& path, int depth) {
    ValueTable out;
    bool complete = true;
    for (const auto& [key, item] : items) {
      const std::string name(key.str());
      auto converted = value(item, path.empty() ? name : path + "." + name, depth + 1);
      complete = complete && converted.has_value();
      if (!converted) continue;
      converted->key_where = place(key.source());
      out.emplace(name, std::move(*converted));
    }
    if (!complete) return std::nullopt;
    return Value{where, std::move(out)};
  }

  std::optional<Value> refuse(const SourceLocation& where, const std::string& path, std::string message) {
    diagnostics_.error(where, path, std::move(message));
    return std::nullopt;
  }

  SourceLocation place(const toml::source_region& region) const {
    return {name_, static_cast<int>(region.begin.line), static_cast<int>(region.begin.column)};
  }

  const std::string& name_;
  Diagnostics& diagnostics_;
};

// What makes it no text, or empty.
std::string why_not_text(std::string_view bytes) {
  if (bytes.starts_with("\xFF\xFE") || bytes.starts_with("\xFE\xFF")) return "the file is UTF-16; save it as UTF-8";
  const auto nul = bytes.find('\0');
  if (nul != std::string_view::npos) return fmt::format("the file is not text: byte {} is zero", nul);
  return {};
}

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

}  // namespace

std::optional<std::string> read_text_file(const std::string& path, Diagnostics& diagnostics) {
  const auto refuse = [&](std::string why) {
    diagnostics.error({path, 0, 0}, "", std::move(why));
    return std::nullopt;
  };
  const auto cannot = [&] { return refuse(fmt::format("cannot be read: {}", std::strerror(errno))); };
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return cannot();
  if (S_ISDIR(info.st_mode)) return refuse("is a directory; the path of a TOML file is wanted");
  if (!S_ISREG(info.st_mode)) return refuse("is not a regular file");
  if (info.st_size > kLargestFile)
    return refuse(fmt::format("has {} bytes; a file of more than {} is not read", info.st_size, kLargestFile));
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "rb"));
  if (file == nullptr) return cannot();
  std::string text(static_cast<size_t>(info.st_size) + 1, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  if (std::ferror(file.get()) != 0) return cannot();
  if (text.size() > static_cast<size_t>(info.st_size)) return refuse("grew while it was read");
  if (auto why = why_not_text(text); !why.empty()) return refuse(std::move(why));
  return text;
}

std::optional<Value> parse_toml(std::string_view text, const std::string& name, Diagnostics& diagnostics) {
  if (auto why = why_not_text(text); !why.empty()) {
    diagnostics.error({name, 0, 0}, "", std::move(why));
    return std::nullopt;
  }
  Prescan scan(text);
  if (auto why = scan.problem(); !why.empty()) {
    diagnostics.error({name, scan.line(), 1}, "", std::move(why));
    return std::nullopt;
  }
  const auto parsed = toml::parse(text, std::string_view(name));
  if (!parsed) {
    const auto& error = parsed.error();
    diagnostics.error({name, static_cast<int>(error.source().begin.line), static_cast<int>(error.source().begin.column)}, "",
                      std::string(error.description()));
    return std::nullopt;
  }
  auto tree = Conversion(name, diagnostics).value(parsed.table(), "", 0);
  if (tree) tree->where = {name, 0, 0};
  return tree;
}

std::optional<Value> read_toml_file(const std::string& path, Diagnostics& diagnostics) {
  const auto text = read_text_file(path, diagnostics);
  if (!text) return std::nullopt;
  return parse_toml(*text, path, diagnostics);
}

}  // namespace xdc
