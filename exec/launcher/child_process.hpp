// How is a rank's process started, watched and ended? A child that cannot outlive us, with its output in a pipe.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "core/base/result.hpp"

namespace xdc {

// How a process ended.
struct ExitStatus {
  int code = 0;  // when `signal` is 0
  int signal = 0;
  bool ok() const { return code == 0 && signal == 0; }
};

// "ended with exit code 3", "was killed by signal 9 (Killed)"
std::string describe(ExitStatus status);

// Owned by the thread that started it, which must live as long: the kernel kills the child when that *thread* ends.
class ChildProcess {
 public:
  // Runs this very program with `arguments` (argv[0] included). stdout and stderr go to one pipe, stdin is empty, and the descriptors
  // from kInheritedFd on are those of `inherited`; SIGINT is ignored, because a terminal sends it to everyone and the parent decides;
  // SIGTERM is blocked until the child unblocks it; other signals are as `mask` says. `under`: the words of a command that runs it, a
  // debugger say; none: it runs by itself. `network`: the descriptor of a network namespace that it lives in; -1: in this process's own.
  static constexpr int kInheritedFd = 3;
  static Result<ChildProcess> start(const std::vector<std::string>& under, const std::vector<std::string>& arguments,
                                    const std::vector<int>& inherited, const sigset_t& mask, int network = -1);
  // Kills and reaps what still runs.
  ~ChildProcess();
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&&) = delete;

  pid_t pid() const { return pid_; }
  int exit_fd() const { return exit_fd_; }      // readable once it has ended
  int output_fd() const { return output_fd_; }  // -1: closed

  // Does not wait; nullopt while it runs.
  std::optional<ExitStatus> reap();
  const std::optional<ExitStatus>& exit_status() const { return status_; }
  void send(int signal) const;  // nothing, once it was reaped
  void close_output();

 private:
  ChildProcess() = default;

  pid_t pid_ = -1;
  int exit_fd_ = -1;
  int output_fd_ = -1;
  std::optional<ExitStatus> status_;
};

}  // namespace xdc
