#include "tests/cli/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <stdexcept>

extern char** environ;

namespace xdc::cli {
namespace {

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (auto& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

}  // namespace

Process::Process(const std::vector<std::string>& argv, const std::vector<std::string>& environment) {
  int out[2];
  int err[2];
  if (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0) throw std::runtime_error("pipe failed");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out[1], 1);
  posix_spawn_file_actions_adddup2(&actions, err[1], 2);
  auto arguments = argv;
  std::vector<std::string> variables = environment;
  for (char** variable = environ; *variable != nullptr; ++variable) variables.emplace_back(*variable);
  const int failed = posix_spawnp(&pid_, arguments[0].c_str(), &actions, nullptr, pointers(arguments).data(), pointers(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  close(out[1]);
  close(err[1]);
  out_fd_ = out[0];
  err_fd_ = err[0];
  if (failed != 0) throw std::runtime_error("cannot start " + argv[0]);
}

Process::~Process() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  if (out_fd_ >= 0) close(out_fd_);
  if (err_fd_ >= 0) close(err_fd_);
}

void Process::send(int signal) const { kill(pid_, signal); }

bool Process::read_some(int timeout_ms) {
  std::array<pollfd, 2> polled{{{out_fd_, POLLIN, 0}, {err_fd_, POLLIN, 0}}};
  if (out_fd_ < 0 && err_fd_ < 0) return false;
  if (poll(polled.data(), polled.size(), timeout_ms) <= 0) return true;
  for (size_t i = 0; i < polled.size(); ++i) {
    if (polled[i].revents == 0) continue;
    std::array<char, 65536> buffer;
    const auto count = read(polled[i].fd, buffer.data(), buffer.size());
    int& fd = i == 0 ? out_fd_ : err_fd_;
    if (count > 0) {
      (i == 0 ? result_.out : result_.err).append(buffer.data(), static_cast<size_t>(count));
    } else {
      close(fd);
      fd = -1;
    }
  }
  return true;
}

bool Process::wait_for_output(const std::string& text) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (std::chrono::steady_clock::now() < end) {
    if (result_.out.find(text) != std::string::npos || result_.err.find(text) != std::string::npos) return true;
    if (!read_some(100)) return false;
  }
  return false;
}

Finished Process::finish() {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(120);
  while (read_some(100)) {
    if (std::chrono::steady_clock::now() > end) {
      result_.err += "\n(the test killed it after 120 s)\n";
      send(SIGKILL);
    }
  }
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = -1;
  result_.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return result_;
}

Finished sim(const std::vector<std::string>& arguments, const std::vector<std::string>& environment) {
  std::vector<std::string> argv{XDC_SIM};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  return Process(argv, environment).finish();
}

}  // namespace xdc::cli
