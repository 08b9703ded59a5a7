#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <sstream>
#include <tuple>

#include "tests/tidy/tidy.hpp"

namespace xdc::tidy {
namespace {

namespace fs = std::filesystem;

bool is_text(const fs::path& path) {
  static const std::vector<std::string> kinds = {".cpp", ".hpp", ".cu",   ".cuh",  ".h",  ".proto", ".cmake",
                                                 ".txt", ".md",  ".toml", ".json", ".sh", ""};
  return std::ranges::find(kinds, path.extension().string()) != kinds.end();
}

std::vector<std::string> read_lines(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    lines.push_back(line);
  }
  return lines;
}

// Walks the text once; what it is inside of survives the end of a line.
class Stripper {
 public:
  std::string line(const std::string& in) {
    std::string out;
    for (size_t i = 0; i < in.size();) {
      i += step(in, i, out);
    }
    if (inside_ == Inside::string || inside_ == Inside::character) {
      inside_ = Inside::code;  // does not go on over the end of a line
    }
    return out;
  }

 private:
  enum class Inside { code, block_comment, string, character, raw_string };

  // Returns how many characters were taken.
  size_t step(const std::string& in, size_t i, std::string& out) {
    switch (inside_) {
      case Inside::code:
        return code(in, i, out);
      case Inside::block_comment:
        return until(in, i, "*/");
      case Inside::raw_string:
        return until(in, i, raw_end_);
      case Inside::string:
      case Inside::character:
        break;
    }
    const char end = inside_ == Inside::string ? '"' : '\'';
    if (in[i] == '\\') {
      return 2;
    }
    if (in[i] == end) {
      out += end;
      inside_ = Inside::code;
    }
    return 1;
  }

  size_t until(const std::string& in, size_t i, const std::string& end) {
    const size_t at = in.find(end, i);
    if (at == std::string::npos) {
      return in.size() - i;
    }
    inside_ = Inside::code;
    return at + end.size() - i;
  }

  size_t code(const std::string& in, size_t i, std::string& out) {
    if (in.compare(i, 2, "//") == 0) {
      return in.size() - i;
    }
    if (in.compare(i, 2, "/*") == 0) {
      inside_ = Inside::block_comment;
      return 2;
    }
    const char before = i > 0 ? in[i - 1] : ' ';
    const bool in_word = std::isalnum(static_cast<unsigned char>(before)) != 0 || before == '_';
    if (in.compare(i, 2, "R\"") == 0 && !in_word) {
      const size_t open = in.find('(', i);
      raw_end_ = fmt::format("){}\"", in.substr(i + 2, open - i - 2));
      inside_ = Inside::raw_string;
      out += "\"\"";
      return open + 1 - i;
    }
    if (in[i] == '"') {
      inside_ = Inside::string;
    } else if (in[i] == '\'' && !in_word) {  // 1'000 is a number
      inside_ = Inside::character;
    }
    out += in[i];
    return 1;
  }

  Inside inside_ = Inside::code;
  std::string raw_end_;
};

}  // namespace

std::vector<std::string> without_comments(const std::vector<std::string>& lines) {
  Stripper stripper;
  std::vector<std::string> code;
  for (const auto& line : lines) {
    code.push_back(stripper.line(line));
  }
  return code;
}

std::vector<SourceFile> read_tree(const fs::path& root) {
  std::vector<SourceFile> tree;
  for (auto it = fs::recursive_directory_iterator(root); it != fs::recursive_directory_iterator(); ++it) {
    const auto path = it->path().lexically_relative(root).generic_string();
    if (it->is_directory()) {
      if (path == "build" || path == "data" || path == ".git" || path == "shared") {
        it.disable_recursion_pending();
      }
    } else if (it->is_regular_file() && is_text(it->path())) {
      SourceFile file;
      file.path = path;
      file.lines = read_lines(it->path());
      if (file.is_cpp()) {
        file.code = without_comments(file.lines);
      }
      tree.push_back(std::move(file));
    }
  }
  std::ranges::sort(tree, {}, &SourceFile::path);
  return tree;
}

std::vector<Violation> check_tree(const fs::path& root) {
  const auto tree = read_tree(root);
  std::vector<Violation> all;
  for (const auto check : {check_includes, check_calls, check_files}) {
    const auto found = check(tree);
    all.insert(all.end(), found.begin(), found.end());
  }
  std::ranges::stable_sort(all, [](const Violation& a, const Violation& b) { return std::tie(a.path, a.line) < std::tie(b.path, b.line); });
  return all;
}

std::string text_of(const Violation& v) {
  return fmt::format("{}{}: {}: {}", v.path, v.line == 0 ? std::string() : fmt::format(":{}", v.line), v.rule, v.message);
}

}  // namespace xdc::tidy
