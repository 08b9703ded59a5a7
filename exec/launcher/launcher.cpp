#include "exec/launcher/launcher.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "core/rank_main/rank_main.hpp"
#include "exec/grpc/store_server.hpp"
#include "exec/host/memory_store.hpp"
#include "exec/launcher/child_process.hpp"
#include "exec/launcher/rank_log.hpp"
#include "exec/launcher/rank_process.hpp"

namespace xdc {

namespace {

// How long ranks may take to end by themselves after another failed (they see it lost, and say so), or after SIGTERM.
constexpr Duration kGrace = milliseconds(700);

// SIGINT, SIGTERM and SIGHUP arrive at a file descriptor while this lives; threads started meanwhile do not take them.
class SignalWatch {
 public:
  SignalWatch() {
    sigset_t watched;
    sigemptyset(&watched);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
      sigaddset(&watched, signal);
    }
    ::pthread_sigmask(SIG_BLOCK, &watched, &before_);
    fd_ = ::signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
    XDC_CHECK(fd_ >= 0);
  }
  ~SignalWatch() {
    ::close(fd_);
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

  int fd() const { return fd_; }
  const sigset_t& mask_before() const { return before_; }
  // 0: none came.
  int take() const {
    signalfd_siginfo info{};
    return ::read(fd_, &info, sizeof info) == static_cast<ssize_t>(sizeof info) ? static_cast<int>(info.ssi_signo) : 0;
  }

 private:
  sigset_t before_{};
  int fd_ = -1;
};

// The first rank tells how far it is; see rank_process.cpp.
class ProgressPipe {
 public:
  ProgressPipe() { XDC_CHECK(::pipe2(ends_.data(), O_CLOEXEC | O_NONBLOCK) == 0); }
  ~ProgressPipe() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  ProgressPipe(const ProgressPipe&) = delete;
  ProgressPipe& operator=(const ProgressPipe&) = delete;

  int read_end() const { return ends_[0]; }
  int write_end() const { return ends_[1]; }
  // The latest.
  double take() {
    double part = 0;
    while (::read(ends_[0], &part, sizeof part) == static_cast<ssize_t>(sizeof part)) {
      latest_ = part;
    }
    return latest_;
  }

 private:
  std::array<int, 2> ends_{-1, -1};
  double latest_ = 0;
};

struct RankChild {
  MemberId member = 0;
  ChildProcess process;
  RankLog log;
  bool ended_by_us = false;
};

class Launch {
 public:
  Launch(const RunSpec& spec, const LaunchOptions& options) : spec_(spec), options_(options), store_(clock_) {}

  Status run() {
    XDC_TRY_ASSIGN(server_, StoreServer::start(store_, clock_));
    for (const Member& member : spec_.cluster().members) {
      XDC_TRY(start(member.id));
    }
    while (!all_over()) {
      step();
    }
    return outcome();
  }

  Result<std::vector<MemberReport>> reports() {
    std::vector<MemberReport> all;
    for (const Member& member : spec_.cluster().members) {
      XDC_TRY_ASSIGN(const auto entry, store_.get(report_key(member.id), kNoDeadline));
      if (!entry) {
        return Error{ErrorCode::failed, fmt::format("{} ended without a report", spec_.cluster().describe(member.id))};
      }
      XDC_TRY_ASSIGN(auto report, member_report_from_json(entry->value));
      all.push_back(std::move(report));
    }
    return all;
  }

 private:
  Status start(MemberId member) {
    const RankOptions rank{member, server_->address(), clock_.origin_ns(), spec_.scenario_digest, options_.log_directory};
    std::vector<std::string> arguments = options_.rank_arguments;
    for (std::string& argument : to_arguments(rank)) {
      arguments.push_back(std::move(argument));
    }
    XDC_TRY_ASSIGN(auto log, RankLog::open(short_name(spec_.cluster(), member), options_.log_directory, options_.show_line));
    XDC_TRY_ASSIGN(auto process, ChildProcess::start(arguments, progress_.write_end(), signals_.mask_before()));
    children_.push_back({member, std::move(process), std::move(log)});
    return ok_status();
  }

  bool all_over() const {
    return std::all_of(children_.begin(), children_.end(),
                       [](const RankChild& child) { return child.process.exit_status() && child.process.output_fd() < 0; });
  }

  // Waits for something to happen and deals with it.
  void step() {
    std::vector<pollfd> fds{{signals_.fd(), POLLIN, 0}, {progress_.read_end(), POLLIN, 0}};
    for (const RankChild& child : children_) {
      // Negative descriptors are passed over by poll.
      fds.push_back({child.process.exit_fd(), POLLIN, 0});
      fds.push_back({child.process.output_fd(), POLLIN, 0});
    }
    const int64_t left_ms = end_at_ ? std::clamp<int64_t>((*end_at_ - clock_.now()).ns / 1'000'000 + 1, 0, 1000) : -1;
    ::poll(fds.data(), fds.size(), static_cast<int>(left_ms));
    if (fds[0].revents != 0) {
      on_signal();
    }
    if (fds[1].revents != 0) {
      options_.show_progress(progress_.take());
    }
    for (size_t i = 0; i < children_.size(); ++i) {
      RankChild& child = children_[i];
      if (fds[2 * i + 3].revents != 0 && !child.log.read_from(child.process.output_fd())) {
        child.process.close_output();
      }
      if (fds[2 * i + 2].revents != 0) {
        on_exit(child);
      }
    }
    if (end_at_ && clock_.now() >= *end_at_) {
      end_all(SIGKILL);
      end_at_.reset();
    }
  }

  void on_signal() {
    while (const int signal = signals_.take()) {
      end_all(signal_ == 0 ? SIGTERM : SIGKILL);
      at_once_ = signal_ != 0;
      if (signal_ == 0) {
        end_at_ = clock_.now() + kGrace;
      }
      signal_ = signal;
    }
  }

  void on_exit(RankChild& child) {
    const auto status = child.process.reap();
    if (!status || status->ok() || child.ended_by_us) {
      return;
    }
    failed_.push_back(&child);
    if (failed_.size() == 1 && signal_ == 0) {
      end_at_ = clock_.now() + kGrace;
    }
  }

  void end_all(int signal) {
    for (RankChild& child : children_) {
      if (!child.process.exit_status()) {
        child.ended_by_us = true;
        child.process.send(signal);
      }
    }
  }

  // Of those that failed by themselves: who was killed before who ended, and who did not merely lose another before who did.
  const RankChild* first_cause() {
    const auto weight = [this](const RankChild* child) {
      if (child->process.exit_status()->signal != 0) {
        return 0;
      }
      const auto entry = store_.get(report_key(child->member), kNoDeadline);
      if (!entry.ok() || !entry.value()) {
        return 1;
      }
      const auto report = member_report_from_json(entry.value()->value);
      return report.ok() && report.value().error_code == static_cast<int>(ErrorCode::peer_lost) ? 2 : 1;
    };
    const auto first = std::min_element(failed_.begin(), failed_.end(),
                                        [&weight](const RankChild* a, const RankChild* b) { return weight(a) < weight(b); });
    return first == failed_.end() ? nullptr : *first;
  }

  Status outcome() {
    if (signal_ != 0) {
      return Error{ErrorCode::aborted, fmt::format("ended by signal {} ({}){}", signal_, ::strsignal(signal_),
                                                   at_once_ ? ", the second: ranks were killed at once" : "")};
    }
    const RankChild* cause = first_cause();
    if (cause == nullptr) {
      return ok_status();
    }
    const std::string said = cause->log.last_lines();
    return Error{ErrorCode::failed, fmt::format("{} {}{}{}", spec_.cluster().describe(cause->member),
                                                describe(*cause->process.exit_status()), said.empty() ? "" : "; the last it said:", said)};
  }

  const RunSpec& spec_;
  const LaunchOptions& options_;
  const SignalWatch signals_;  // before any thread
  ProgressPipe progress_;
  const SteadyClock clock_;
  MemoryStore store_;
  std::unique_ptr<StoreServer> server_;
  std::vector<RankChild> children_;
  std::vector<const RankChild*> failed_;  // in the order seen; children_ no longer grows by then
  std::optional<TimePoint> end_at_;       // when patience ends
  int signal_ = 0;
  bool at_once_ = false;  // a second signal did not let ranks end by themselves
};

}  // namespace

std::string short_name(const Cluster& cluster, MemberId member) {
  const Member& m = cluster.members[static_cast<size_t>(member)];
  const std::string& datacenter = cluster.datacenters[static_cast<size_t>(m.datacenter)];
  return m.role == Role::server ? fmt::format("{}/server{}", datacenter, member - cluster.workers())
                                : fmt::format("{}/{}", datacenter, member);
}

Result<std::vector<MemberReport>> launch(const RunSpec& spec, const LaunchOptions& options) {
  Launch launch(spec, options);
  XDC_TRY(launch.run());
  return launch.reports();
}

}  // namespace xdc
