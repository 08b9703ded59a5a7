#include "exec/emu/network_namespace.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "core/base/check.hpp"

namespace xdc {

namespace {

std::string reason() { return std::generic_category().message(errno); }

// The calling thread's own.
int open_current() { return ::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC); }

Status raise_loopback() {
  const int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ifreq request{};
  std::strncpy(request.ifr_name, "lo", IFNAMSIZ - 1);
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  const bool fine = fd >= 0 && ::ioctl(fd, SIOCSIFFLAGS, &request) == 0;
  const std::string why = fine ? "" : reason();
  if (fd >= 0) ::close(fd);
  return fine ? ok_status() : Status(Error{ErrorCode::failed, fmt::format("raising the loopback of a network namespace: {}", why)});
}

}  // namespace

Result<NetworkNamespace> NetworkNamespace::make() {
  const int home = open_current();
  if (home < 0) return Error{ErrorCode::unsupported, fmt::format("this machine's network namespace cannot be opened: {}", reason())};
  if (::unshare(CLONE_NEWNET) != 0) {
    const bool denied = errno == EPERM;
    const std::string why = reason();
    ::close(home);
    return Error{ErrorCode::unsupported, fmt::format("making a network namespace: {}{}", why,
                                                     denied ? "; emulating lines needs root (CAP_SYS_ADMIN and CAP_NET_ADMIN)" : "")};
  }
  const int made = open_current();
  const Status raised = raise_loopback();
  XDC_CHECK_MSG(::setns(home, CLONE_NEWNET) == 0, "this thread cannot come back from a network namespace that it made");
  ::close(home);
  if (made < 0) return Error{ErrorCode::unsupported, fmt::format("a network namespace cannot be opened: {}", reason())};
  NetworkNamespace out(made);
  XDC_TRY(raised);
  return out;
}

NetworkNamespace::~NetworkNamespace() {
  if (fd_ >= 0) ::close(fd_);
}

std::string NetworkNamespace::path() const { return fmt::format("/proc/{}/fd/{}", ::getpid(), fd_); }

Status NetworkNamespace::within(const std::function<Status()>& work) const {
  const int home = open_current();
  if (home < 0 || ::setns(fd_, CLONE_NEWNET) != 0) {
    const std::string why = reason();
    if (home >= 0) ::close(home);
    return Error{ErrorCode::failed, fmt::format("entering a network namespace: {}", why)};
  }
  const Status status = work();
  XDC_CHECK_MSG(::setns(home, CLONE_NEWNET) == 0, "this thread cannot come back from a network namespace");
  ::close(home);
  return status;
}

Status NetworkNamespace::run(const std::vector<std::string>& command) const {
  std::vector<std::string> words = command;
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  int said[2];
  if (::pipe2(said, O_CLOEXEC) != 0) return Error{ErrorCode::failed, fmt::format("a pipe: {}", reason())};
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(said[1], STDOUT_FILENO);
    ::dup2(said[1], STDERR_FILENO);
    if (::setns(fd_, CLONE_NEWNET) == 0) ::execvp(argv[0], argv.data());
    ::_exit(127);
  }
  ::close(said[1]);
  std::string text;
  char part[512];
  for (ssize_t n = 0; (n = ::read(said[0], part, sizeof part)) > 0;) text.append(part, static_cast<size_t>(n));
  ::close(said[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return ok_status();
  const bool missing = WIFEXITED(status) && WEXITSTATUS(status) == 127 && text.empty();
  return Error{ErrorCode::failed, fmt::format("`{}` failed{}", fmt::join(command, " "),
                                              missing ? fmt::format(": is there a program {}?", command.front()) : ": " + text)};
}

}  // namespace xdc
