// What has a rank said? Its lines, as they come, with its name in front; the last ones are kept for when it fails.
#pragma once

#include <deque>
#include <string>
#include <string_view>

#include "core/base/result.hpp"

namespace xdc {

class RankLog {
 public:
  // `name` is "beijing/3". `directory` empty: no file; else the lines also go to "<directory>/beijing-3.log".
  static Result<RankLog> open(std::string name, const std::string& directory);
  ~RankLog();
  RankLog(RankLog&& other) noexcept;
  RankLog& operator=(RankLog&&) = delete;

  // Reads what there is; false at the end of the output.
  bool read_from(int fd);
  // The last lines, each indented by two blanks; empty when it said nothing.
  std::string last_lines() const;

 private:
  explicit RankLog(std::string name) : name_(std::move(name)) {}
  void take(std::string_view bytes);
  void put_line(std::string_view line);

  std::string name_;
  int file_ = -1;
  std::string partial_;
  std::deque<std::string> last_;
};

}  // namespace xdc
