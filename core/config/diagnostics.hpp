// What is wrong with a user's files, all of it at once?
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace xdc {

struct SourceLocation {
  std::string file;  // as the user named it, or "--set a.b=c" as a whole
  int line = 0;      // from 1; 0: the file as a whole
  int column = 0;
};

struct Diagnostic {
  SourceLocation where;
  std::string key;      // dotted path: "variant[2].strategy.kind"; empty for the file as a whole
  std::string message;  // what is wrong and what is allowed
};

class Diagnostics {
 public:
  void error(SourceLocation where, std::string key, std::string message);
  bool ok() const { return errors_.empty(); }
  const std::vector<Diagnostic>& errors() const { return errors_; }
  // One error a line, "file:line:column: key: message", in order of place, each once: what several variants inherit is
  // said once although the key's path differs.
  std::string text() const;

 private:
  std::vector<Diagnostic> errors_;
};

// The candidate with the least edit distance, if it is near enough to be meant; empty otherwise.
std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace xdc
