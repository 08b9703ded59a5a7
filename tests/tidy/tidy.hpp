// Does the tree keep its own rules? What cannot be seen by a compiler: who may include whom, what core may not call, which
// scenarios no test runs. README.md lists the rules.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace xdc::tidy {

struct SourceFile {
  std::string path;  // from the root, with '/'
  std::vector<std::string> lines;
  // The same lines without comments and without the contents of strings (quotes stay): what the compiler acts on.
  std::vector<std::string> code;

  bool is_cpp() const { return path.ends_with(".cpp") || path.ends_with(".hpp") || path.ends_with(".cu") || path.ends_with(".cuh"); }
};

struct Violation {
  std::string path;
  size_t line = 0;  // from 1; 0: the file as a whole
  std::string rule;
  std::string message;
};

// Every text file under `root` that belongs to the project, by path: not what .gitignore leaves out (build, data), nor .git.
std::vector<SourceFile> read_tree(const std::filesystem::path& root);

// "a // b" -> "a "; also block comments over several lines, strings, raw strings, character literals.
std::vector<std::string> without_comments(const std::vector<std::string>& lines);

std::vector<Violation> check_includes(const std::vector<SourceFile>& tree);
std::vector<Violation> check_calls(const std::vector<SourceFile>& tree);
std::vector<Violation> check_files(const std::vector<SourceFile>& tree);

// All of them, in order of path and line.
std::vector<Violation> check_tree(const std::filesystem::path& root);
// "path:line: rule: message"
std::string text_of(const Violation& violation);

}  // namespace xdc::tidy
