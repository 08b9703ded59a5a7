#include "tests/cli/xdc_run_program.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <charconv>
#include <fstream>
#include <iterator>
#include <thread>

namespace xdc::cli {

namespace fs = std::filesystem;

namespace {

struct Stat {
  char state = '?';
  pid_t parent = 0;
};

std::optional<Stat> stat_of(pid_t pid) {
  const std::string text = read(fmt::format("/proc/{}/stat", pid));
  const size_t after_name = text.rfind(')');
  Stat stat;
  if (after_name == std::string::npos || std::sscanf(text.c_str() + after_name + 1, " %c %d", &stat.state, &stat.parent) != 2) {
    return std::nullopt;
  }
  return stat;
}

}  // namespace

Folder::Folder() {
  std::string pattern = (fs::temp_directory_path() / "xdc-cli-XXXXXX").native();
  REQUIRE(::mkdtemp(pattern.data()) != nullptr);
  path_ = pattern;
}

Folder::~Folder() { fs::remove_all(path_); }

Program::Program(const Folder& folder, const std::vector<std::string>& arguments, const std::vector<std::string>& environment,
                 const std::string& name)
    : out_(folder.file(name + "stdout")), err_(folder.file(name + "stderr")) {
  std::vector<const char*> argv{XDC_RUN};
  for (const std::string& argument : arguments) {
    argv.push_back(argument.c_str());
  }
  argv.push_back(nullptr);
  pid_ = ::fork();
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::dup2(::open(out_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666), STDOUT_FILENO);
    ::dup2(::open(err_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666), STDERR_FILENO);
    for (const std::string& variable : environment) {
      ::putenv(const_cast<char*>(variable.c_str()));
    }
    if (::chdir(folder.path().c_str()) == 0) {
      ::execv(XDC_RUN, const_cast<char* const*>(argv.data()));
    }
    ::_exit(127);
  }
}

Program::~Program() {
  if (!ended_) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
}

void Program::send(int signal) const { ::kill(pid_, signal); }

std::optional<Exit> Program::wait(double seconds) {
  const auto start = std::chrono::steady_clock::now();
  int raw = 0;
  if (!eventually(seconds, [&] { return ::waitpid(pid_, &raw, WNOHANG) == pid_; })) {
    return std::nullopt;
  }
  ended_ = true;
  const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return WIFSIGNALED(raw) ? Exit{0, WTERMSIG(raw), took} : Exit{WEXITSTATUS(raw), 0, took};
}

std::string Program::out() const { return read(out_); }
std::string Program::err() const { return read(err_); }

std::vector<pid_t> Program::ranks() const {
  std::vector<pid_t> children;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    pid_t pid = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), pid).ptr == name.data() + name.size()) {
      const auto stat = stat_of(pid);
      if (stat && stat->parent == pid_ && stat->state != 'Z') {
        children.push_back(pid);
      }
    }
  }
  return children;
}

std::string output_of(const std::vector<std::string>& arguments, double seconds) {
  const Folder folder;
  Program program(folder, arguments);
  const auto exit = program.wait(seconds);
  INFO(program.err());
  REQUIRE(exit);
  REQUIRE(exit->code == 0);
  return program.out();
}

bool eventually(double seconds, const std::function<bool()>& holds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) {
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

bool is_alive(pid_t pid) {
  const auto stat = stat_of(pid);
  return stat && stat->state != 'Z';
}

std::string read(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace xdc::cli
