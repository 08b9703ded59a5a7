#include "exec/launcher/launcher.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "core/rank_main/rank_main.hpp"
#include "core/rank_main/run_state.hpp"
#include "core/rank_main/variant_facts.hpp"
#include "exec/launcher/child_process.hpp"
#include "exec/launcher/event_watch.hpp"
#include "exec/launcher/prefixed_store.hpp"
#include "exec/launcher/rank_log.hpp"
#include "exec/launcher/rank_process.hpp"
#include "exec/launcher/status_pipe.hpp"

namespace xdc {

namespace {

// How long ranks may take to end by themselves after another failed: they see it lost, and say so.
constexpr Duration kGrace = milliseconds(700);
// The same when it is known that no better cause can come: the store is gone, through which they would be heard.
constexpr Duration kShortGrace = milliseconds(200);
// A call to a store that may be gone.
constexpr Duration kShort = milliseconds(500);

// How often what ranks say is looked at: one wake-up for many records.
constexpr Duration kLook = milliseconds(100);
constexpr int64_t kIdleMs = 500;

RunStatus::Setting setting_of(const RunSpec& spec, const Placement& placement) {
  return {spec.variant,         spec.cluster(),       placement.here, planned_steps(spec.train.stop, spec.schedule()),
          spec.train.stop.time, facts_of(spec).routes};
}

struct RankChild {
  MemberId member = 0;
  ChildProcess process;
  RankLog log;
  bool ended_by_us = false;
};

class Launch {
 public:
  Launch(Session& session, const RunSpec& spec, const LaunchOptions& options)
      : session_(session),
        spec_(spec),
        options_(options),
        prefix_(fmt::format("{}/", options.number)),
        store_(session.store(), prefix_),
        kept_by_another_(!session.keeps_store()),
        status_(setting_of(spec, options.placement)) {}

  Result<Launched> run() {
    XDC_TRY_ASSIGN(run_, session_.meet({prefix_, spec_.cluster(), options_.placement.here, options_.facts, options_.allowed}));
    clock_.emplace();
    if (!session_.alone()) {
      watch_.emplace(session_, prefix_);
    }
    const Status started = start_all();
    if (!started.ok()) {
      note_failure(1, started.error().message);
    }
    while (!all_over()) {
      step();
    }
    look();
    auto reports = failed() ? Result<std::vector<MemberReport>>(Error{ErrorCode::failed, ""}) : gather_reports();
    if (failed() || at_once_) {
      return outcome();
    }
    XDC_TRY(reports.status());
    return Launched{std::move(reports).value(), stopping_};
  }

 private:
  Status start_all() {
    for (const MemberId member : options_.placement.here) {
      XDC_TRY(start(member));
    }
    return ok_status();
  }

  Status start(MemberId member) {
    const RankOptions rank{member,
                           session_.store_address(),
                           clock_->origin_ns(),
                           spec_.scenario_digest,
                           options_.log_directory,
                           run_,
                           prefix_,
                           options_.placement.listen[static_cast<size_t>(member)],
                           options_.placement.tls_directory,
                           options_.placement.keeper,
                           options_.events >= 0,
                           {}};
    std::vector<std::string> arguments = options_.rank_arguments;
    for (std::string& argument : to_arguments(rank)) {
      arguments.push_back(std::move(argument));
    }
    XDC_TRY_ASSIGN(auto log, RankLog::open(short_name(spec_.cluster(), member), options_.log_directory, options_.show_line));
    std::vector<int> inherited{pipe_.write_end()};
    if (options_.events >= 0) {
      inherited.push_back(options_.events);
    }
    const auto datacenter = static_cast<size_t>(spec_.cluster().members[static_cast<size_t>(member)].datacenter);
    const int network = options_.networks.empty() ? -1 : options_.networks[datacenter];
    XDC_TRY_ASSIGN(auto process, ChildProcess::start(options_.under, arguments, inherited, session_.signals().mask_before(), network));
    children_.push_back({member, std::move(process), std::move(log)});
    status_.set_alive(member, true);
    return ok_status();
  }

  bool all_over() const {
    return std::all_of(children_.begin(), children_.end(),
                       [](const RankChild& child) { return child.process.exit_status() && child.process.output_fd() < 0; });
  }

  // Waits for something to happen and deals with it.
  void step() {
    const int64_t until_look_ms = std::max<int64_t>(0, (look_at_ - clock_->now()).ns / 1'000'000 + 1);
    const bool looks = clock_->now() >= look_at_;
    std::vector<pollfd> fds{
        {session_.signals().fd(), POLLIN, 0}, {looks ? pipe_.read_end() : -1, POLLIN, 0}, {watch_ ? watch_->fd() : -1, POLLIN, 0}};
    for (const RankChild& child : children_) {
      // Negative descriptors are passed over by poll.
      fds.push_back({child.process.exit_fd(), POLLIN, 0});
      fds.push_back({child.process.output_fd(), POLLIN, 0});
    }
    int64_t left_ms = looks ? kIdleMs : until_look_ms;
    if (end_at_) {
      left_ms = std::clamp<int64_t>((*end_at_ - clock_->now()).ns / 1'000'000 + 1, 0, left_ms);
    }
    ::poll(fds.data(), fds.size(), static_cast<int>(left_ms));
    on_signals();
    if (clock_->now() >= look_at_) {
      look();
    }
    if (fds[2].revents != 0) {
      on_news();
    }
    for (size_t i = 0; i < children_.size(); ++i) {
      RankChild& child = children_[i];
      if (fds[2 * i + 4].revents != 0 && !child.log.read_from(child.process.output_fd())) {
        child.process.close_output();
      }
      if (fds[2 * i + 3].revents != 0) {
        on_exit(child);
      }
    }
    if (end_at_ && clock_->now() >= *end_at_) {
      kill_all();
      end_at_.reset();
    }
  }

  void look() {
    const std::vector<StatusRecord> records = pipe_.take();
    for (const StatusRecord& record : records) {
      status_.take(record);
    }
    status_.tick(clock_->now());
    options_.show_status(status_, records);
    look_at_ = clock_->now() + kLook;
  }

  void on_signals() {
    while (const int signal = session_.signals().take()) {
      if (signal_ == 0) {
        signal_ = signal;
        options_.show_line(fmt::format("xdc-run: signal {} ({}): ranks finish their round; a second signal ends them at once", signal,
                                       ::strsignal(signal)));
        tell({Tidings::Kind::stop, 0, ""});
        ask_all_to_stop();
        continue;
      }
      signal_ = signal;
      at_once_ = true;
      kill_all();
      note_failure(0, fmt::format("ended by signal {} ({}), the second: ranks were killed at once", signal, ::strsignal(signal)));
    }
  }

  void on_news() {
    const EventWatch::News news = watch_->take();
    if (news.event && news.event->kind == Tidings::Kind::stop) {
      ask_all_to_stop();
    }
    if (news.event && news.event->kind == Tidings::Kind::failure) {
      take_cause(news.event->weight, news.event->text);
    }
    if (!news.store_lost.empty() && !reports_are_in_) {
      take_cause(0, fmt::format("the launcher of {}, which keeps the store, is gone: was it killed, or is the line down? ({})",
                                spec_.cluster().describe(0), news.store_lost));
      end_at_ = std::min(end_at_.value_or(kNoDeadline), clock_->now() + kShortGrace);
    }
  }

  void ask_all_to_stop() {
    stopping_ = true;
    for (const RankChild& child : children_) {
      child.process.send(SIGTERM);
    }
  }

  void on_exit(RankChild& child) {
    const auto status = child.process.reap();
    status_.set_alive(child.member, !status);
    if (!status || status->ok() || child.ended_by_us) {
      return;
    }
    if (child.process.output_fd() >= 0 && !child.log.read_from(child.process.output_fd())) {
      child.process.close_output();
    }
    const std::string said = child.log.last_lines();
    note_failure(weight_of(child, *status), fmt::format("{} {}{}{}", spec_.cluster().describe(child.member), describe(*status),
                                                        said.empty() ? "" : "; the last it said:", said));
  }

  // Of causes: who was killed before who ended, and who did not merely lose another before who did.
  int weight_of(const RankChild& child, ExitStatus status) {
    if (status.signal != 0) {
      return 0;
    }
    const auto entry = store_.get(report_key(child.member), session_.clock().now() + kShort);
    if (!entry.ok() || !entry.value()) {
      return kept_by_another_ && !entry.ok() ? 2 : 1;
    }
    const auto report = member_report_from_json(entry.value()->value);
    return report.ok() && report.value().error_code == static_cast<int>(ErrorCode::peer_lost) ? 2 : 1;
  }

  // Seen here.
  void note_failure(int weight, const std::string& text) {
    take_cause(weight, text);
    tell({Tidings::Kind::failure, weight, text});
  }

  bool failed() const { return cause_weight_ >= 0; }

  void take_cause(int weight, const std::string& text) {
    if (!failed() && !end_at_) {
      end_at_ = clock_->now() + kGrace;
    }
    if (!failed() || weight < cause_weight_) {
      cause_weight_ = weight;
      cause_ = text;
    }
  }

  void tell(const Tidings& event) {
    if (watch_) {
      session_.tell(prefix_, event);
    }
  }

  void kill_all() {
    for (RankChild& child : children_) {
      if (!child.process.exit_status()) {
        child.ended_by_us = true;
        child.process.send(SIGKILL);
      }
    }
  }

  // Signals and news while nothing else is waited for.
  void listen(Duration patience) {
    std::array<pollfd, 2> fds{{{session_.signals().fd(), POLLIN, 0}, {watch_ ? watch_->fd() : -1, POLLIN, 0}}};
    ::poll(fds.data(), fds.size(), static_cast<int>(patience.ns / 1'000'000));
    on_signals();
    if (fds[1].revents != 0) {
      on_news();
    }
  }

  // Members elsewhere may take a little longer, or fail at last.
  Result<std::vector<MemberReport>> gather_reports() {
    std::vector<MemberReport> all;
    const Deadline deadline = clock_->now() + spec_.round_timeout;
    for (const Member& member : spec_.cluster().members) {
      auto entry = store_.get(report_key(member.id), session_.clock().now() + kShort);
      while (entry.ok() && !entry.value() && !session_.alone() && !failed() && clock_->now() < deadline) {
        listen(milliseconds(50));
        entry = store_.get(report_key(member.id), session_.clock().now() + kShort);
      }
      XDC_TRY(entry.status());
      if (!entry.value()) {
        return Error{ErrorCode::failed, fmt::format("{} ended without a report{}", spec_.cluster().describe(member.id),
                                                    options_.under.empty() ? ""
                                                                           : fmt::format(": does \"{}\" run the command that follows it?",
                                                                                         fmt::join(options_.under, " ")))};
      }
      XDC_TRY_ASSIGN(auto report, member_report_from_json(entry.value()->value));
      if (!report.error.empty() && !failed()) {
        note_failure(1, report.error);
      }
      all.push_back(std::move(report));
    }
    reports_are_in_ = true;
    return all;
  }

  // When all that is to be heard was heard: the same cause at every launcher.
  Error outcome() {
    if (at_once_) {
      return {ErrorCode::aborted, cause_};
    }
    const Deadline patience = clock_->now() + (watch_ && cause_weight_ == 2 ? kGrace : Duration{});
    while (clock_->now() < patience && cause_weight_ == 2) {
      if (session_.keeps_store()) {
        if (const std::string silent = session_.silent_launchers(); !silent.empty()) {
          note_failure(0, fmt::format("{}: their launcher is gone: it was killed, or its machine or line is down. First to notice: {}",
                                      silent, cause_));
        }
      }
      listen(milliseconds(50));
    }
    return {ErrorCode::failed, cause_};
  }

  Session& session_;
  const RunSpec& spec_;
  const LaunchOptions& options_;
  const std::string prefix_;
  PrefixedStore store_;
  const bool kept_by_another_;
  std::string run_;
  std::optional<SteadyClock> clock_;  // of the run: begins when all have met
  std::optional<EventWatch> watch_;
  StatusPipe pipe_;
  RunStatus status_;
  TimePoint look_at_;
  std::vector<RankChild> children_;
  std::optional<TimePoint> end_at_;  // when patience ends
  int cause_weight_ = -1;            // none
  std::string cause_;
  int signal_ = 0;
  bool stopping_ = false;  // ranks were asked to finish their round
  bool at_once_ = false;   // a second signal did not let them
  bool reports_are_in_ = false;
};

}  // namespace

std::string short_name(const Cluster& cluster, MemberId member) {
  const Member& m = cluster.members[static_cast<size_t>(member)];
  const std::string& datacenter = cluster.datacenters[static_cast<size_t>(m.datacenter)];
  return m.role == Role::server ? fmt::format("{}/server{}", datacenter, member - cluster.workers())
                                : fmt::format("{}/{}", datacenter, member);
}

Result<Launched> launch(Session& session, const RunSpec& spec, const LaunchOptions& options) {
  return Launch(session, spec, options).run();
}

}  // namespace xdc
