#include "exec/launcher/child_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <span>
#include <system_error>
#include <utility>

#include "core/base/check.hpp"

namespace xdc {

namespace {

constexpr size_t kMostInherited = 16;
constexpr char kSelf[] = "/proc/self/exe";
// Finds a command as a shell would, which nobody may do between fork and exec.
constexpr char kFinder[] = "/usr/bin/env";

Error system_failure(std::string_view what) {
  return {ErrorCode::failed, fmt::format("{}: {}", what, std::generic_category().message(errno))};
}

// Between fork and exec of a process with threads: only calls that POSIX calls async-signal-safe.
[[noreturn]] void become(const char* program, char* const* arguments, pid_t parent, int input, int output, std::span<const int> inherited,
                         const sigset_t& mask, int network) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) {
    ::_exit(127);  // it died before we could ask to be told
  }
  ::dup2(input, STDIN_FILENO);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(output, STDERR_FILENO);
  if (network >= 0 && ::setns(network, CLONE_NEWNET) != 0) {
    constexpr char kOutside[] = "the network of its datacenter could not be entered\n";
    [[maybe_unused]] const ssize_t said = ::write(STDERR_FILENO, kOutside, sizeof kOutside - 1);
    ::_exit(127);
  }
  // Out of each other's way first: one of them may have the number that another is to get.
  constexpr int kAside = 64;
  std::array<int, kMostInherited> aside{};
  int count = 0;
  for (const int fd : inherited) {
    aside[static_cast<size_t>(count++)] = ::fcntl(fd, F_DUPFD, kAside);
  }
  for (int i = 0; i < count; ++i) {
    ::dup2(aside[static_cast<size_t>(i)], ChildProcess::kInheritedFd + i);
  }
  ::close_range(static_cast<unsigned>(ChildProcess::kInheritedFd + count), ~0U, 0);
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGINT, &ignore, nullptr);
  // SIGTERM waits until the rank can heed it (rank_process.cpp).
  sigset_t at_first = mask;
  sigaddset(&at_first, SIGTERM);
  ::sigprocmask(SIG_SETMASK, &at_first, nullptr);
  ::execv(program, arguments);
  constexpr char kFailed[] = " cannot be run\n";
  [[maybe_unused]] ssize_t written = ::write(STDERR_FILENO, program, ::strlen(program));
  written = ::write(STDERR_FILENO, kFailed, sizeof kFailed - 1);
  ::_exit(127);
}

void close_fd(int& fd) {
  if (fd >= 0) {
    ::close(std::exchange(fd, -1));
  }
}

}  // namespace

std::string describe(ExitStatus status) {
  return status.signal != 0 ? fmt::format("was killed by signal {} ({})", status.signal, ::strsignal(status.signal))
                            : fmt::format("ended with exit code {}", status.code);
}

Result<ChildProcess> ChildProcess::start(const std::vector<std::string>& under, const std::vector<std::string>& arguments,
                                         const std::vector<int>& inherited, const sigset_t& mask, int network) {
  XDC_CHECK(inherited.size() <= kMostInherited);
  std::vector<std::string> words = arguments;
  if (!under.empty()) {
    std::error_code error;
    words.front() = std::filesystem::read_symlink(kSelf, error).string();
    words.insert(words.begin(), under.begin(), under.end());
    words.insert(words.begin(), kFinder);
  }
  std::vector<char*> argv;
  for (std::string& word : words) {
    argv.push_back(word.data());
  }
  argv.push_back(nullptr);
  ChildProcess child;
  int input = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  std::array<int, 2> pipe{-1, -1};
  if (input < 0 || ::pipe2(pipe.data(), O_CLOEXEC) != 0) {
    Error error = system_failure("starting a rank");
    close_fd(input);
    return error;
  }
  child.output_fd_ = pipe[0];
  ::fcntl(child.output_fd_, F_SETFL, O_NONBLOCK);
  const pid_t parent = ::getpid();
  child.pid_ = ::fork();
  if (child.pid_ == 0) {
    become(under.empty() ? kSelf : kFinder, argv.data(), parent, input, pipe[1], inherited, mask, network);
  }
  const int fork_error = errno;
  close_fd(input);
  close_fd(pipe[1]);
  if (child.pid_ > 0) {
    child.exit_fd_ = static_cast<int>(::syscall(SYS_pidfd_open, child.pid_, 0));  // glibc 2.36 declares pidfd_open for C only
  }
  if (child.exit_fd_ < 0) {
    errno = child.pid_ < 0 ? fork_error : errno;
    return system_failure("starting a rank");
  }
  return child;
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      exit_fd_(std::exchange(other.exit_fd_, -1)),
      output_fd_(std::exchange(other.output_fd_, -1)),
      status_(other.status_) {}

ChildProcess::~ChildProcess() {
  if (pid_ > 0 && !status_) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  close_fd(exit_fd_);
  close_fd(output_fd_);
}

std::optional<ExitStatus> ChildProcess::reap() {
  int raw = 0;
  if (!status_ && ::waitpid(pid_, &raw, WNOHANG) == pid_) {
    status_ = WIFSIGNALED(raw) ? ExitStatus{0, WTERMSIG(raw)} : ExitStatus{WEXITSTATUS(raw), 0};
    close_fd(exit_fd_);
  }
  return status_;
}

void ChildProcess::send(int signal) const {
  if (!status_) {
    ::kill(pid_, signal);  // not reaped, so the number is still its own
  }
}

void ChildProcess::close_output() { close_fd(output_fd_); }

}  // namespace xdc
