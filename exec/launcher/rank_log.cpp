#include "exec/launcher/rank_log.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

namespace xdc {

namespace {

constexpr size_t kKeptLines = 10;
// A line longer than this is broken, so that a rank that writes no line ends takes no memory.
constexpr size_t kLongestLine = 16 * 1024;

}  // namespace

Result<RankLog> RankLog::open(std::string name, const std::string& directory, Show show) {
  RankLog log(std::move(name), std::move(show));
  if (!directory.empty()) {
    std::string file = log.name_;
    std::replace(file.begin(), file.end(), '/', '-');
    const std::string path = fmt::format("{}/{}.log", directory, file);
    log.file_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (log.file_ < 0) {
      return Error{ErrorCode::failed, fmt::format("opening {}: {}", path, std::generic_category().message(errno))};
    }
  }
  return log;
}

RankLog::RankLog(RankLog&& other) noexcept
    : name_(std::move(other.name_)),
      show_(std::move(other.show_)),
      file_(std::exchange(other.file_, -1)),
      partial_(std::move(other.partial_)),
      last_(std::move(other.last_)) {}

RankLog::~RankLog() {
  if (file_ >= 0) {
    ::close(file_);
  }
}

bool RankLog::read_from(int fd) {
  std::array<char, 8192> buffer;
  for (;;) {
    const ssize_t n = ::read(fd, buffer.data(), buffer.size());
    if (n > 0) {
      take({buffer.data(), static_cast<size_t>(n)});
    } else if (n < 0 && errno == EINTR) {
      continue;
    } else if (n < 0 && errno == EAGAIN) {
      return true;
    } else {
      if (!partial_.empty()) {
        put_line(std::exchange(partial_, {}));
      }
      return false;
    }
  }
}

void RankLog::take(std::string_view bytes) {
  for (;;) {
    const size_t end = bytes.find('\n');
    partial_ += bytes.substr(0, end);
    if (end == std::string_view::npos && partial_.size() < kLongestLine) {
      return;
    }
    put_line(std::exchange(partial_, {}));
    if (end == std::string_view::npos) {
      return;
    }
    bytes.remove_prefix(end + 1);
  }
}

void RankLog::put_line(std::string_view line) {
  show_(fmt::format("[{}] {}", name_, line));
  if (file_ >= 0) {
    const std::string whole = fmt::format("{}\n", line);
    // A full disk must not end a run; the line was shown.
    [[maybe_unused]] const ssize_t written = ::write(file_, whole.data(), whole.size());
  }
  last_.emplace_back(line);
  if (last_.size() > kKeptLines) {
    last_.pop_front();
  }
}

std::string RankLog::last_lines() const {
  std::string text;
  for (const std::string& line : last_) {
    text += fmt::format("\n  {}", line);
  }
  return text;
}

}  // namespace xdc
