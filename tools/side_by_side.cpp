#include "tools/side_by_side.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>

namespace xdc {
namespace {

// Set by the handler, read by the loop: the only thing that the two share.
volatile sig_atomic_t signal_seen = 0;
void note_signal(int number) { signal_seen = number; }

constexpr std::array<int, 3> kEndingSignals{SIGINT, SIGTERM, SIGHUP};

// Ending signals are blocked but while the loop waits, so that none is lost between a look and a wait.
class SignalGuard {
 public:
  SignalGuard() {
    signal_seen = 0;
    sigset_t ending;
    sigemptyset(&ending);
    for (const int number : kEndingSignals) sigaddset(&ending, number);
    sigprocmask(SIG_BLOCK, &ending, &mask_before_);
    struct sigaction action {};
    action.sa_handler = note_signal;
    for (size_t i = 0; i < kEndingSignals.size(); ++i) {
      sigaction(kEndingSignals[i], nullptr, &before_[i]);
      // Whoever started us with a signal ignored (nohup) wants it ignored.
      if (before_[i].sa_handler != SIG_IGN) sigaction(kEndingSignals[i], &action, nullptr);
    }
  }
  ~SignalGuard() { restore(); }
  SignalGuard(const SignalGuard&) = delete;
  SignalGuard& operator=(const SignalGuard&) = delete;

  const sigset_t& waiting_mask() const { return mask_before_; }

  // In a child: SIGINT goes to the whole terminal's group, and the parent decides what ends.
  void become_child() {
    restore();
    signal(SIGINT, SIG_IGN);
  }

 private:
  void restore() {
    for (size_t i = 0; i < kEndingSignals.size(); ++i) sigaction(kEndingSignals[i], &before_[i], nullptr);
    sigprocmask(SIG_SETMASK, &mask_before_, nullptr);
  }

  sigset_t mask_before_{};
  std::array<struct sigaction, kEndingSignals.size()> before_{};
};

// What goes through the pipe: a kind, the size of the text, the text.
enum class Kind : char { progress = 'p', text = 't', events = 'v', report = 'r', error = 'e', end = '.' };
constexpr size_t kHeader = 1 + sizeof(uint64_t);

void send(int fd, Kind kind, std::string_view text) {
  std::string message(kHeader, '\0');
  message[0] = static_cast<char>(kind);
  const uint64_t size = text.size();
  std::memcpy(message.data() + 1, &size, sizeof size);
  message += text;
  std::string_view rest = message;
  while (!rest.empty()) {
    const auto written = write(fd, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) _exit(1);  // nobody listens any more
    rest.remove_prefix(static_cast<size_t>(written));
  }
}

// Text goes in pieces: one write for many small ones.
class Gathered {
 public:
  Gathered(int out, Kind kind) : out_(out), kind_(kind) {}
  void add(std::string_view more) {
    constexpr size_t kPiece = 65536;
    text_ += more;
    if (text_.size() >= kPiece) flush();
  }
  void flush() {
    if (!text_.empty()) send(out_, kind_, text_);
    text_.clear();
  }

 private:
  const int out_;
  const Kind kind_;
  std::string text_;
};

[[noreturn]] void live_as_child(const Task& task, int out) {
  double told = 0;
  Gathered text(out, Kind::text), events(out, Kind::events);
  const auto progress = [&](double part) {
    constexpr double kStep = 0.01;
    if (part < told + kStep) return;
    told = part;
    send(out, Kind::progress, fmt::format("{}", part));
  };
  const auto outcome = task({progress, [&](std::string_view more) { text.add(more); }, [&](std::string_view more) { events.add(more); }});
  text.flush();
  events.flush();
  if (outcome.ok()) {
    for (const auto& report : outcome.value()) send(out, Kind::report, to_json(report));
    send(out, Kind::end, "");
  } else {
    send(out, Kind::error, outcome.error().message);
  }
  // No destructors: what the parent had opened is the parent's to close.
  std::fflush(nullptr);
  _exit(0);
}

class Child {
 public:
  Child(size_t task, pid_t pid, int in, const SideBySideOptions& options) : task_(task), pid_(pid), in_(in), options_(&options) {}

  size_t task() const { return task_; }
  int in() const { return in_; }
  double part() const { return part_; }
  bool closed() const { return in_ < 0; }

  // Reads what there is; at the end of the pipe it is closed.
  void read_some() {
    std::array<char, 65536> buffer;
    const auto count = read(in_, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) return;
    if (count <= 0) {
      close(in_);
      in_ = -1;
      return;
    }
    bytes_.append(buffer.data(), static_cast<size_t>(count));
    take_messages();
  }

  void kill_now() const { kill(pid_, SIGKILL); }

  // After the pipe was closed, or kill_now.
  TaskOutcome reap() {
    if (in_ >= 0) close(in_);
    in_ = -1;
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    TaskOutcome out;
    out.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count();
    if (error_) {
      out.reports = Error{ErrorCode::failed, *error_};
    } else if (complete_) {
      out.reports = std::move(reports_);
    } else if (WIFSIGNALED(status)) {
      out.reports =
          Error{ErrorCode::failed, fmt::format("its process was killed by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)))};
    } else {
      out.reports =
          Error{ErrorCode::failed, fmt::format("its process ended with exit code {} before it had reported", WEXITSTATUS(status))};
    }
    return out;
  }

 private:
  void take_messages() {
    size_t at = 0;
    while (bytes_.size() - at >= kHeader) {
      uint64_t size = 0;
      std::memcpy(&size, bytes_.data() + at + 1, sizeof size);
      if (bytes_.size() - at - kHeader < size) break;
      take(static_cast<Kind>(bytes_[at]), bytes_.substr(at + kHeader, size));
      at += kHeader + size;
    }
    bytes_.erase(0, at);
  }

  void take(Kind kind, std::string text) {
    switch (kind) {
      case Kind::progress:
        part_ = std::strtod(text.c_str(), nullptr);
        break;
      case Kind::text:
        if (options_->text) options_->text(task_, text);
        break;
      case Kind::events:
        if (options_->events) options_->events(task_, text);
        break;
      case Kind::report: {
        auto report = member_report_from_json(text);
        if (report.ok()) {
          reports_.push_back(std::move(report).value());
        } else {
          error_ = report.error().message;
        }
        break;
      }
      case Kind::error:
        error_ = std::move(text);
        break;
      case Kind::end:
        complete_ = true;
        break;
    }
  }

  size_t task_;
  pid_t pid_;
  int in_;
  const SideBySideOptions* options_;
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  std::string bytes_;
  double part_ = 0;
  std::vector<MemberReport> reports_;
  std::optional<std::string> error_;
  bool complete_ = false;
};

class Pool {
 public:
  Pool(const std::vector<Task>& tasks, const SideBySideOptions& options)
      : tasks_(tasks), options_(options), outcomes_(tasks.size()), parts_(tasks.size()) {}

  std::vector<TaskOutcome> run(bool& interrupted) {
    interrupted = false;
    while (next_ < tasks_.size() || !children_.empty()) {
      while (next_ < tasks_.size() && children_.size() < static_cast<size_t>(std::max(1, options_.jobs))) start(next_++);
      tell_progress();
      wait();
      if (signal_seen != 0) {
        interrupted = true;
        end_all();
        break;
      }
      if (options_.enough && options_.enough()) {
        end_all();
        break;
      }
    }
    tell_progress();
    return std::move(outcomes_);
  }

 private:
  void start(size_t task) {
    std::array<int, 2> ends{-1, -1};
    std::fflush(nullptr);  // or the child would print it again
    if (pipe(ends.data()) != 0) return fail(task, "a pipe cannot be made");
    const pid_t parent = getpid();
    const pid_t pid = fork();
    if (pid == 0) {
      signals_.become_child();
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent) _exit(1);  // it died before we could ask to be told
      close(ends[0]);
      for (const auto& sibling : children_) close(sibling.in());
      live_as_child(tasks_[task], ends[1]);
    }
    const int why = errno;
    close(ends[1]);
    if (pid < 0) {
      close(ends[0]);
      errno = why;
      return fail(task, "a process cannot be started");
    }
    children_.emplace_back(task, pid, ends[0], options_);
  }

  void fail(size_t task, std::string_view what) {
    outcomes_[task].reports = Error{ErrorCode::failed, fmt::format("{}: {}", what, std::strerror(errno))};
  }

  void wait() {
    if (children_.empty()) return;
    std::vector<pollfd> polled;
    // poll passes over what is negative.
    for (const auto& child : children_) polled.push_back({waits(child) ? -1 : child.in(), POLLIN, 0});
    if (ppoll(polled.data(), polled.size(), nullptr, &signals_.waiting_mask()) <= 0) return;
    for (size_t i = 0; i < polled.size(); ++i) {
      if (polled[i].revents != 0) children_[i].read_some();
      parts_[children_[i].task()] = children_[i].part();
    }
    for (auto& child : children_) {
      if (!child.closed()) continue;
      parts_[child.task()] = 1;
      outcomes_[child.task()] = child.reap();
      if (options_.ended) options_.ended(child.task(), outcomes_[child.task()]);
    }
    std::erase_if(children_, [](const Child& child) { return child.closed(); });
  }

  bool waits(const Child& child) const { return options_.waits && options_.waits(child.task()); }

  void end_all() {
    for (const auto& child : children_) child.kill_now();
    for (auto& child : children_) (void)child.reap();
    children_.clear();
  }

  void tell_progress() {
    if (options_.progress) options_.progress(parts_);
  }

  const std::vector<Task>& tasks_;
  const SideBySideOptions& options_;
  SignalGuard signals_;
  std::vector<Child> children_;
  std::vector<TaskOutcome> outcomes_;
  std::vector<double> parts_;
  size_t next_ = 0;
};

}  // namespace

std::vector<TaskOutcome> run_side_by_side(const std::vector<Task>& tasks, const SideBySideOptions& options, bool& interrupted) {
  return Pool(tasks, options).run(interrupted);
}

}  // namespace xdc
