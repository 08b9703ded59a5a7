#include "exec/host/file_storage.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace xdc {

namespace fs = std::filesystem;

namespace {

Error system_failure(std::string_view what, std::string_view path, int error) {
  return {ErrorCode::failed, fmt::format("{} {}: {}", what, path, std::generic_category().message(error))};
}

class File {
 public:
  explicit File(int fd) : fd_(fd) {}
  ~File() {
    if (fd_ >= 0) {
      ::close(fd_);
    }
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int fd() const { return fd_; }
  // close() can be where a full disk or a network file system says so.
  bool close() { return ::close(std::exchange(fd_, -1)) == 0; }

 private:
  int fd_;
};

bool allowed(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-'; }

Status check_name(std::string_view name) {
  for (size_t at = 0; at <= name.size();) {
    const size_t end = std::min(name.find('/', at), name.size());
    const std::string_view part = name.substr(at, end - at);
    if (part.empty() || part == "." || part == ".." || !std::all_of(part.begin(), part.end(), allowed)) {
      return Error{ErrorCode::invalid, fmt::format("storage name \"{}\": parts of [a-z0-9._-] separated by '/' are allowed", name)};
    }
    at = end + 1;
  }
  return ok_status();
}

Status sync_directory(const fs::path& directory) {
  const File file(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (file.fd() < 0 || ::fsync(file.fd()) != 0) {
    return system_failure("syncing", directory.native(), errno);
  }
  return ok_status();
}

// Makes the directories above a file, each durable in its parent.
Status make_directories(const fs::path& directory) {
  if (directory.empty() || fs::is_directory(directory)) {
    return ok_status();
  }
  const fs::path parent = directory.parent_path();
  if (parent != directory) {
    XDC_TRY(make_directories(parent));
  }
  if (::mkdir(directory.c_str(), 0777) != 0 && errno != EEXIST) {
    return system_failure("making directory", directory.native(), errno);
  }
  return sync_directory(parent.empty() ? fs::path(".") : parent);
}

Status write_whole(const fs::path& path, std::span<const std::byte> contents) {
  File file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (file.fd() < 0) {
    return system_failure("creating", path.native(), errno);
  }
  for (size_t at = 0; at < contents.size();) {
    const ssize_t n = ::write(file.fd(), contents.data() + at, contents.size() - at);
    if (n < 0 && errno != EINTR) {
      return system_failure("writing", path.native(), errno);
    }
    at += n > 0 ? static_cast<size_t>(n) : 0;
  }
  if (::fsync(file.fd()) != 0 || !file.close()) {
    return system_failure("syncing", path.native(), errno);
  }
  return ok_status();
}

Status put_file(const fs::path& path, const fs::path& temporary, std::span<const std::byte> contents) {
  XDC_TRY(write_whole(temporary, contents));
  if (::rename(temporary.c_str(), path.c_str()) != 0) {
    return system_failure("renaming to", path.native(), errno);
  }
  return sync_directory(path.parent_path());
}

}  // namespace

Status FileStorage::put(std::string_view name, std::span<const std::byte> contents) {
  XDC_TRY(check_name(name));
  const fs::path path = fs::path(root_) / name;
  XDC_TRY(make_directories(path.parent_path()));
  const fs::path temporary = fmt::format("{}~{}-{}", path.native(), ::getpid(), next_temporary_++);
  Status status = put_file(path, temporary, contents);
  if (!status.ok()) {
    ::unlink(temporary.c_str());
  }
  return status;
}

Result<std::vector<std::byte>> FileStorage::get(std::string_view name) {
  XDC_TRY(check_name(name));
  const std::string path = (fs::path(root_) / name).native();
  const File file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info {};
  if (file.fd() < 0 || ::fstat(file.fd(), &info) != 0) {
    return errno == ENOENT || errno == ENOTDIR ? Error{ErrorCode::invalid, fmt::format("there is no {}", path)}
                                               : system_failure("opening", path, errno);
  }
  if (!S_ISREG(info.st_mode)) {
    return Error{ErrorCode::invalid, fmt::format("{} is no file", path)};
  }
  std::vector<std::byte> contents(static_cast<size_t>(info.st_size));
  for (size_t at = 0; at < contents.size();) {
    const ssize_t n = ::read(file.fd(), contents.data() + at, contents.size() - at);
    if (n == 0) {
      return Error{ErrorCode::failed, fmt::format("{} became shorter while it was read", path)};
    }
    if (n < 0 && errno != EINTR) {
      return system_failure("reading", path, errno);
    }
    at += n > 0 ? static_cast<size_t>(n) : 0;
  }
  return contents;
}

Result<std::vector<std::string>> FileStorage::list(std::string_view prefix) {
  std::vector<std::string> names;
  std::error_code error;
  if (!fs::exists(root_, error)) {
    return names;
  }
  for (fs::recursive_directory_iterator at(root_, error), end; !error && at != end; at.increment(error)) {
    std::error_code ignored;  // an entry that vanished meanwhile is no file any more
    const std::string name = at->path().lexically_relative(root_).generic_string();
    if (name.starts_with(prefix) && check_name(name).ok() && at->is_regular_file(ignored)) {
      names.push_back(name);
    }
  }
  if (error) {
    return system_failure("listing", root_, error.value());
  }
  std::sort(names.begin(), names.end());
  return names;
}

Status FileStorage::remove(std::string_view name) {
  XDC_TRY(check_name(name));
  const fs::path path = fs::path(root_) / name;
  if (::unlink(path.c_str()) != 0) {
    return errno == ENOENT || errno == ENOTDIR ? ok_status() : Status(system_failure("removing", path.native(), errno));
  }
  XDC_TRY(sync_directory(path.parent_path()));
  // Directories that hold nothing any more go as well; one that does is left by the system itself.
  for (fs::path directory = path.parent_path(); directory != fs::path(root_); directory = directory.parent_path()) {
    if (::rmdir(directory.c_str()) != 0) {
      break;
    }
  }
  return ok_status();
}

}  // namespace xdc
