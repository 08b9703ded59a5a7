#include "exec/launcher/event_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace xdc {

Result<EventFile> EventFile::open(const std::string& path) {
  const auto cannot = [&path] {
    return Error{ErrorCode::invalid, fmt::format("{} cannot be written: {}", path, std::generic_category().message(errno))};
  };
  // Without O_NONBLOCK: a named pipe waits for its reader.
  EventFile file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666));
  struct stat info {};
  if (file.fd_ < 0 || ::fstat(file.fd_, &info) != 0) {
    return cannot();
  }
  if (!S_ISREG(info.st_mode) && ::fcntl(file.fd_, F_SETFL, O_APPEND | O_NONBLOCK) != 0) {
    return cannot();
  }
  return file;
}

EventFile::~EventFile() {
  if (fd_ >= 0) {
    ::close(fd_);
  }
}

}  // namespace xdc
