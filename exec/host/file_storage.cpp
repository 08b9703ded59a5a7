#include "exec/host/file_storage.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

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

// False: it is not there any more.
Result<bool> sync_directory(const fs::path& directory) {
  const File file(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (file.fd() < 0 && errno == ENOENT) return false;
  if (file.fd() < 0 || ::fsync(file.fd()) != 0) {
    return system_failure("syncing", directory.native(), errno);
  }
  return true;
}

// Makes the directories above a file, each durable in its parent. False: another process has removed one meanwhile, as it was empty.
Result<bool> make_directories(const fs::path& directory) {
  if (directory.empty() || fs::is_directory(directory)) {
    return true;
  }
  const fs::path parent = directory.parent_path();
  if (parent != directory) {
    XDC_TRY_ASSIGN(const bool made, make_directories(parent));
    if (!made) return false;
  }
  if (::mkdir(directory.c_str(), 0777) != 0 && errno != EEXIST) {
    return errno == ENOENT ? Result<bool>(false) : system_failure("making directory", directory.native(), errno);
  }
  return sync_directory(parent.empty() ? fs::path(".") : parent);
}

// A file of its own beside `path`, open and locked for as long as it is written: so a sweep knows that its writer lives, wherever the
// writer runs. Its name is "PATH~PROCESS-NUMBER".
struct Temporary {
  Temporary(fs::path its_path, int fd) : path(std::move(its_path)), file(fd) {}
  fs::path path;
  File file;
};

Result<std::unique_ptr<Temporary>> make_temporary(const fs::path& path, std::atomic<uint64_t>& next) {
  // A sweep may take the directory, as long as it is empty, or the file, as long as it is not locked; and another machine's process may
  // have the number of this one.
  constexpr int kAttempts = 100;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    XDC_TRY_ASSIGN(const bool made_directories, make_directories(path.parent_path()));
    if (!made_directories) continue;
    fs::path name = fmt::format("{}~{}-{}", path.native(), ::getpid(), next++);
    const int fd = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0 && errno != ENOENT && errno != EEXIST) return system_failure("creating", name.native(), errno);
    if (fd < 0) continue;
    auto made = std::make_unique<Temporary>(std::move(name), fd);
    struct stat info {};
    if (::flock(fd, LOCK_EX) != 0 || ::fstat(fd, &info) != 0) return system_failure("locking", made->path.native(), errno);
    if (info.st_nlink > 0) return made;
  }
  return Error{ErrorCode::failed, fmt::format("creating {}: whatever is made for it is gone at once, a hundred times", path.native())};
}

Status write_part(const Temporary& temporary, off_t begin, std::span<const std::byte> part) {
  for (size_t at = 0; at < part.size();) {
    const ssize_t n = ::write(temporary.file.fd(), part.data() + at, part.size() - at);
    if (n < 0 && errno != EINTR) {
      return system_failure("writing", temporary.path.native(), errno);
    }
    at += n > 0 ? static_cast<size_t>(n) : 0;
  }
  // The disk begins with this part while the next one is made. A hint: what it cannot do, and every error of the disk, is fsync's to say.
  static_cast<void>(::sync_file_range(temporary.file.fd(), begin, static_cast<off_t>(part.size()), SYNC_FILE_RANGE_WRITE));
  return ok_status();
}

Status put_file(const fs::path& path, Temporary& temporary, const Storage::Parts& next) {
  for (off_t at = 0;;) {
    XDC_TRY_ASSIGN(const auto part, next());
    if (part.empty()) break;
    XDC_TRY(write_part(temporary, at, part));
    at += static_cast<off_t>(part.size());
  }
  if (::fsync(temporary.file.fd()) != 0) return system_failure("syncing", temporary.path.native(), errno);
  if (::rename(temporary.path.c_str(), path.c_str()) != 0) {
    return system_failure("renaming to", path.native(), errno);
  }
  if (!temporary.file.close()) return system_failure("closing", path.native(), errno);
  return sync_directory(path.parent_path()).status();
}

bool is_temporary(std::string_view name) {
  const auto number = [&name] {
    const size_t end = name.find_last_not_of("0123456789");
    const bool some = end != std::string_view::npos && end + 1 < name.size();
    name = name.substr(0, some ? end + 1 : 0);
    return some;
  };
  if (!number() || !name.ends_with('-')) return false;
  name.remove_suffix(1);
  return number() && name.ends_with('~');
}

// Whoever writes it holds a lock; a process that was killed holds none.
void remove_if_stale(const fs::path& path) {
  const File file(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (file.fd() >= 0 && ::flock(file.fd(), LOCK_EX | LOCK_NB) == 0) ::unlink(path.c_str());
}

// What killed processes left below `root`: temporary files, and directories in which nothing is any more. What cannot be removed is in
// nobody's way, and stays.
void sweep(const std::string& root) {
  std::error_code error;
  std::vector<fs::path> directories;
  for (fs::recursive_directory_iterator at(root, error), end; !error && at != end; at.increment(error)) {
    std::error_code ignored;
    if (at->is_symlink(ignored)) continue;
    if (at->is_directory(ignored)) directories.push_back(at->path());
    if (at->is_regular_file(ignored) && is_temporary(at->path().filename().native())) remove_if_stale(at->path());
  }
  // Those inside others come behind them. One that holds something is left by the system itself.
  for (auto directory = directories.rbegin(); directory != directories.rend(); ++directory) ::rmdir(directory->c_str());
}

}  // namespace

Status FileStorage::put(std::string_view name, std::span<const std::byte> contents) {
  return put_parts(name, [&contents]() -> Result<std::span<const std::byte>> { return std::exchange(contents, {}); });
}

Status FileStorage::put_parts(std::string_view name, const Parts& next) {
  XDC_TRY(check_name(name));
  std::call_once(swept_, sweep, root_);
  const fs::path path = fs::path(root_) / name;
  XDC_TRY_ASSIGN(const auto temporary, make_temporary(path, next_temporary_));
  Status status = put_file(path, *temporary, next);
  if (!status.ok()) {
    ::unlink(temporary->path.c_str());
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
  XDC_TRY(sync_directory(path.parent_path()).status());
  // Directories that hold nothing any more go as well; one that does is left by the system itself.
  for (fs::path directory = path.parent_path(); directory != fs::path(root_); directory = directory.parent_path()) {
    if (::rmdir(directory.c_str()) != 0) {
      break;
    }
  }
  return ok_status();
}

}  // namespace xdc
