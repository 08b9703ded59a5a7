#include "tools/command_line.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>

namespace xdc {

namespace fs = std::filesystem;

void refuse_empty_values(CLI::App& app, std::initializer_list<const char*> options) {
  const auto empty = [](std::string& value) { return value.empty() ? std::string("is empty; give a value, or leave the option out") : ""; };
  for (const char* option : options) app.get_option(option)->check(CLI::Validator(empty, ""));
}

CLI::Validator whole_number() {
  const auto check = [](std::string& value) {
    int64_t number = -1;
    const auto read = std::from_chars(value.data(), value.data() + value.size(), number);
    if (read.ec == std::errc() && read.ptr == value.data() + value.size() && number >= 0) return std::string();
    return fmt::format("\"{}\" is not a whole number between 0 and {}", value, std::numeric_limits<int64_t>::max());
  };
  return CLI::Validator(check, "");
}

Status check_output_paths(const std::vector<std::pair<std::string, std::string>>& outputs) {
  std::map<fs::path, std::string> seen;
  for (const auto& [option, path] : outputs) {
    if (path.empty()) continue;
    if (path == "-") {
      if (option == "--json") continue;
      return Error{ErrorCode::invalid, fmt::format("{}: wants a file: stdout is for the table", option)};
    }
    std::error_code error;
    // A device takes what several write, /dev/null for one.
    if (fs::exists(path, error) && !fs::is_regular_file(path, error)) continue;
    const fs::path whole = fs::weakly_canonical(fs::absolute(path, error), error);
    if (error) continue;  // opening it says why
    const auto [other, fresh] = seen.emplace(whole, option);
    if (!fresh) {
      return Error{ErrorCode::invalid, fmt::format("{}: {} is the file of {} already; give each its own", option, path, other->second)};
    }
  }
  return ok_status();
}

}  // namespace xdc
