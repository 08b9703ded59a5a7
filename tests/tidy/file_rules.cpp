// Is every file in order as a file, and is every scenario used?
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>

#include "tests/tidy/tidy.hpp"

namespace xdc::tidy {
namespace {

constexpr size_t kMostLines = 400;

bool contains(const SourceFile& file, std::string_view text) {
  return std::ranges::any_of(file.lines, [&](const auto& line) { return line.find(text) != std::string::npos; });
}

std::string name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// A scenario that no test names is run by nobody and rots; a topology may also be used by a scenario.
void check_registered(const std::vector<SourceFile>& tree, std::vector<Violation>& found) {
  for (const auto& file : tree) {
    const bool scenario = file.path.starts_with("scenarios/") && file.path.ends_with(".toml");
    const bool topology = file.path.starts_with("topologies/") && file.path.ends_with(".toml");
    if (!scenario && !topology) {
      continue;
    }
    const auto name = name_of(file.path);
    const bool used = std::ranges::any_of(tree, [&](const SourceFile& other) {
      const bool test = other.path.starts_with("tests/") && !other.path.starts_with("tests/tidy/") && !other.path.ends_with(".md");
      const bool counts = test || other.path == "README.md" || (topology && other.path.starts_with("scenarios/"));
      return counts && contains(other, name);
    });
    if (!used) {
      found.push_back(
          {file.path, 0, "unregistered", fmt::format("no test and not the README names {}{}", name, topology ? ", nor a scenario" : "")});
    }
  }
}

// The path of someone's machine is wrong on every other.
void check_absolute_paths(const SourceFile& file, std::vector<Violation>& found) {
  static const std::vector<std::string> homes = {"work", "home", "root", "Users", "mnt"};
  for (size_t i = 0; i < file.lines.size(); ++i) {
    const auto& line = file.lines[i];
    for (const auto& home : homes) {
      const auto text = fmt::format("/{}/", home);
      for (size_t at = line.find(text); at != std::string::npos; at = line.find(text, at + 1)) {
        const char before = at == 0 ? ' ' : line[at - 1];
        const bool relative =
            std::isalnum(static_cast<unsigned char>(before)) != 0 || std::string_view("._-/}>)").find(before) != std::string_view::npos;
        if (!relative) {
          found.push_back({file.path, i + 1, "absolute path", fmt::format("a path of one machine: {}", line.substr(at, 40))});
        }
      }
    }
  }
}

void check_shape(const SourceFile& file, std::vector<Violation>& found) {
  if (file.lines.size() > kMostLines) {
    found.push_back({file.path, 0, "length", fmt::format("{} lines, more than {}", file.lines.size(), kMostLines)});
  }
  if (!file.path.ends_with(".hpp")) {
    return;
  }
  if (file.lines.empty() || !file.lines.front().starts_with("// ")) {
    found.push_back({file.path, 1, "first comment", "a header opens with a comment that says which question it answers"});
  }
  if (std::ranges::find(file.lines, "#pragma once") == file.lines.end()) {
    found.push_back({file.path, 0, "pragma once", "a header has #pragma once"});
  }
}

void check_left_over(const SourceFile& file, std::vector<Violation>& found) {
  static const std::vector<std::string> marks = {
      "TO"
      "DO",
      "FIX"
      "ME"};
  for (size_t i = 0; i < file.lines.size(); ++i) {
    for (const auto& mark : marks) {
      if (file.lines[i].find(mark) != std::string::npos) {
        found.push_back({file.path, i + 1, "left over", "do it, or write down as a limit what is not done"});
      }
    }
  }
}

}  // namespace

std::vector<Violation> check_files(const std::vector<SourceFile>& tree) {
  std::vector<Violation> found;
  check_registered(tree, found);
  for (const auto& file : tree) {
    check_absolute_paths(file, found);
    check_left_over(file, found);
    if (file.is_cpp()) {
      check_shape(file, found);
    }
  }
  return found;
}

}  // namespace xdc::tidy
