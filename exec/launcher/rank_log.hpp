// What has a rank said? Its lines as they come, with its name in front; the last ones are kept for when it fails.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <string_view>

#include "core/base/result.hpp"

namespace xdc {

class RankLog {
 public:
  using Show = std::function<void(std::string_view line)>;
  // `name` is "beijing/3". `directory` empty: no file; else the lines also go to "<directory>/beijing-3.log".
  static Result<RankLog> open(std::string name, const std::string& directory, Show show);
  ~RankLog();
  RankLog(RankLog&& other) noexcept;
  RankLog& operator=(RankLog&&) = delete;

  // Reads what there is; false at the end of the output.
  bool read_from(int fd);
  // The last lines, each indented by two blanks; empty when it said nothing.
  std::string last_lines() const;

 private:
  RankLog(std::string name, Show show) : name_(std::move(name)), show_(std::move(show)) {}
  void take(std::string_view bytes);
  void put_line(std::string_view line);

  std::string name_;
  Show show_;
  int file_ = -1;
  std::string partial_;
  std::deque<std::string> last_;
};

}  // namespace xdc
