// Where in its changes of files is a process killed? A library for LD_PRELOAD: it stands before the system calls that change files, counts
// those below one directory, and kills the process with SIGKILL at the n-th.
//
//   KILL_AT_MEMBER   the rank it is about ("2"), or "any"; every other process is left alone
//   KILL_AT_BELOW    the directory
//   KILL_AT_CALL     the n-th call is not made; 0: none is kept from being made
//   KILL_AT_LOG      takes a line for each: "rename /dir/step-000002/manifest.json"
//
// A write counts twice: killed at its second count, half of it has been made.
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool is_the_member() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string line{std::istreambuf_iterator<char>(file), {}};
  const std::string member = environment("KILL_AT_MEMBER");
  return !member.empty() && line.find("\"member\":" + (member == "any" ? "" : member + ",")) != std::string::npos;
}

struct Watch {
  bool on = is_the_member();
  std::string below = environment("KILL_AT_BELOW");
  long at = std::atol(environment("KILL_AT_CALL").c_str());
  std::string log = environment("KILL_AT_LOG");
  std::atomic<long> calls{0};
};

Watch& watch() {
  static Watch one;
  return one;
}

// Before main, so that no call of it is the first to look.
[[gnu::constructor]] void begin() { watch(); }

bool watched(const std::string& path) { return watch().on && path.starts_with(watch().below); }

std::string path_of(int fd) {
  char path[4096];
  const ssize_t size = ::readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), path, sizeof path);
  return {path, static_cast<size_t>(std::max<ssize_t>(size, 0))};
}

// True: it is this one.
bool count(const char* call, const std::string& path) {
  const long number = ++watch().calls;
  const std::string line = std::string(call) + " " + path + "\n";
  const int fd = static_cast<int>(::syscall(SYS_openat, AT_FDCWD, watch().log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (::syscall(SYS_write, fd, line.data(), line.size()) != static_cast<long>(line.size())) std::abort();
  ::syscall(SYS_close, fd);
  return number == watch().at;
}

void die() { ::raise(SIGKILL); }

void pass(const char* call, const std::string& path) {
  if (watched(path) && count(call, path)) die();
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const int mode = (flags & O_CREAT) != 0 ? va_arg(more, int) : 0;
  va_end(more);
  if ((flags & O_CREAT) != 0) pass("create", path);
  return static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}

ssize_t write(int fd, const void* bytes, size_t size) {
  if (watch().on) {
    const std::string path = path_of(fd);
    pass("write", path);
    if (watched(path) && count("tear", path)) {
      if (::syscall(SYS_write, fd, bytes, size / 2) < 0) std::abort();
      die();
    }
  }
  return ::syscall(SYS_write, fd, bytes, size);
}

int fsync(int fd) {
  if (watch().on) pass("fsync", path_of(fd));
  return static_cast<int>(::syscall(SYS_fsync, fd));
}

int rename(const char* from, const char* to) noexcept {
  pass("rename", to);
  return static_cast<int>(::syscall(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to));
}

int mkdir(const char* path, mode_t mode) noexcept {
  pass("mkdir", path);
  return static_cast<int>(::syscall(SYS_mkdirat, AT_FDCWD, path, mode));
}

int unlink(const char* path) noexcept {
  pass("unlink", path);
  return static_cast<int>(::syscall(SYS_unlinkat, AT_FDCWD, path, 0));
}

int rmdir(const char* path) noexcept {
  pass("rmdir", path);
  return static_cast<int>(::syscall(SYS_unlinkat, AT_FDCWD, path, AT_REMOVEDIR));
}
}
