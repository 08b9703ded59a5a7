// xdc-emu: the lines of a topology on this machine, between network namespaces. A thin main: lines up, commands in, account out.
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <nlohmann/json.hpp>

#include "core/base/quantity.hpp"
#include "exec/emu/emulated_wan.hpp"
#include "tools/command_line.hpp"
#include "tools/program.hpp"

namespace xdc {
namespace {

struct Options {
  std::string topology, queue = "50 ms", json;
  std::vector<std::string> commands;
  uint64_t seed = 0;
  bool version = false;
};

constexpr const char* kFooter =
    "Every datacenter is a network namespace, whose node N is at 10.99.<datacenter from 1>.<N from 1>. Needs root. Whatever way it ends, "
    "nothing\n"
    "is left behind. Exit codes: 0 done, 2 bad input, 3 the lines could not be made or a command failed.\n"
    "Examples:\n"
    "  xdc-emu topologies/bank_3dc.toml                  # says how to enter each datacenter, until Ctrl-C\n"
    "  xdc-emu topologies/two_offices.toml --exec 'office: iperf3 -s -1' --exec 'branch: sleep 0.2; iperf3 -c 10.99.1.1'\n";

int fail(ExitCode code, const std::string& message) {
  fmt::print(stderr, "xdc-emu: {}\n", message);
  return code;
}

struct Command {
  int datacenter = 0;
  std::string text;
};

// "office: iperf3 -s"
Result<std::vector<Command>> read_commands(const Options& options, const Topology& topology) {
  std::vector<Command> out;
  for (const std::string& text : options.commands) {
    const auto colon = text.find(':');
    const std::string name = text.substr(0, colon);
    const int datacenter = colon == std::string::npos ? -1 : topology.datacenter_index(name);
    if (datacenter < 0 || text.find_first_not_of(" \t\n", colon + 1) == std::string::npos) {
      std::vector<std::string> names;
      for (const auto& known : topology.datacenters) names.push_back(known.name);
      return Error{ErrorCode::invalid,
                   fmt::format("--exec '{}': a datacenter and a command are wanted, as in 'office: ping -c 3 10.99.2.1'; there are: {}",
                               text, fmt::join(names, ", "))};
    }
    out.push_back({datacenter, text.substr(colon + 1)});
  }
  return out;
}

pid_t start(const NetworkNamespace& where, const std::string& command, const sigset_t& mask) {
  const pid_t parent = ::getpid(), child = ::fork();
  if (child != 0) return child;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::setpgid(0, 0);  // all that the shell starts ends with it
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
  if (::getppid() == parent && ::setns(where.fd(), CLONE_NEWNET) == 0) ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
  ::_exit(127);
}

// Kills what is left of these process groups when this process has ended, however: what a shell started gets no signal of its parent's
// death. A process of its own that waits for the end of a pipe whose other end this one alone has.
class Guard {
 public:
  explicit Guard(const std::vector<pid_t>& groups) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return;
    pid_ = ::fork();
    if (pid_ == 0) {
      ::setpgid(0, 0);  // a terminal's Ctrl-C is not for it
      ::close(ends[1]);
      char none = 0;
      while (::read(ends[0], &none, 1) < 0 && errno == EINTR) {
      }
      for (const pid_t group : groups) {
        if (group > 0) ::kill(-group, SIGKILL);
      }
      ::_exit(0);
    }
    ::close(ends[0]);
    alive_ = ends[1];
  }
  ~Guard() {
    if (alive_ >= 0) ::close(alive_);
    if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
  }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

 private:
  pid_t pid_ = -1;
  int alive_ = -1;
};

// True: all commands ended well. What they left running ends with them.
bool run_commands(const EmulatedWan& wan, const std::vector<Command>& commands, int signals, const sigset_t& mask) {
  std::vector<pid_t> running;
  for (const Command& command : commands) running.push_back(start(wan.datacenter(command.datacenter), command.text, mask));
  const Guard guard(running);
  size_t left = running.size();
  bool fine = true, asked = false;
  while (left > 0) {
    signalfd_siginfo info{};
    if (::read(signals, &info, sizeof info) != sizeof info) continue;
    if (info.ssi_signo != SIGCHLD) {
      for (const pid_t pid : running) {
        if (pid > 0) ::kill(-pid, asked ? SIGKILL : SIGTERM);
      }
      asked = true;  // what does not listen is killed by a second signal
      fine = false;
      continue;
    }
    for (size_t i = 0; i < running.size(); ++i) {
      // It stays to be waited for, so that its number names no other group while the guard knows it.
      siginfo_t ended{};
      if (running[i] <= 0 || ::waitid(P_PID, static_cast<id_t>(running[i]), &ended, WEXITED | WNOHANG | WNOWAIT) != 0) continue;
      if (ended.si_pid != running[i]) continue;
      running[i] = 0;
      --left;
      if (ended.si_code == CLD_EXITED && ended.si_status == 0) continue;
      fine = false;
      fmt::print(stderr, "xdc-emu: `{}` {}\n", commands[i].text,
                 ended.si_code == CLD_EXITED ? fmt::format("ended with exit code {}", ended.si_status)
                                             : fmt::format("was killed by signal {}", ended.si_status));
    }
  }
  return fine;
}

void wait_for_people(const EmulatedWan& wan, const Topology& topology, int signals) {
  for (size_t i = 0; i < topology.datacenters.size(); ++i) {
    fmt::print("{} at {}: nsenter --net={} COMMAND\n", topology.datacenters[i].name, EmulatedWan::address(static_cast<int>(i), 0),
               wan.datacenter(static_cast<int>(i)).path());
  }
  std::fflush(stdout);
  signalfd_siginfo info{};
  while (::read(signals, &info, sizeof info) != sizeof info || info.ssi_signo == SIGCHLD) {
  }
}

nlohmann::json to_json(const WanAccount& account) {
  nlohmann::json lines = nlohmann::json::array();
  for (const auto& [settings, seen] : account.lines) {
    lines.push_back({{"name", settings.name},
                     {"bytes_per_s", settings.bytes_per_s},
                     {"latency_s", to_seconds(settings.latency)},
                     {"loss", settings.loss},
                     {"segments", seen.segments},
                     {"bytes", seen.bytes},
                     {"busy_s", to_seconds(seen.busy)},
                     {"dropped_by_queue", seen.dropped_by_queue},
                     {"dropped_by_fault", seen.dropped_by_fault},
                     {"lost_at_random", seen.lost_at_random}});
  }
  return {{"lines", lines},
          {"packets", account.packets},
          {"refused", account.refused},
          {"mean_late_s", to_seconds(account.mean_late)},
          {"p99_late_s", to_seconds(account.p99_late)},
          {"most_late_s", to_seconds(account.most_late)},
          {"realtime", account.realtime}};
}

int emulate(const Options& options) {
  Diagnostics diagnostics;
  const auto topology = read_topology(options.topology, diagnostics);
  if (!topology.ok() || !diagnostics.ok()) return fail(kBadInput, diagnostics.ok() ? topology.error().message : diagnostics.text());
  const auto commands = read_commands(options, topology.value());
  if (!commands.ok()) return fail(kBadInput, commands.error().message);
  const auto queue = parse_duration(options.queue);
  if (!queue.ok()) return fail(kBadInput, fmt::format("--queue: {}", queue.error().message));
  std::optional<OutputFile> json;
  if (!options.json.empty()) {
    auto opened = OutputFile::open(options.json);
    if (!opened.ok()) return fail(kBadInput, fmt::format("--json: {}", opened.error().message));
    json.emplace(std::move(opened).value());
  }
  sigset_t heard, before;
  sigemptyset(&heard);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGCHLD}) sigaddset(&heard, signal);
  ::sigprocmask(SIG_BLOCK, &heard, &before);  // before there is a second thread
  const int signals = ::signalfd(-1, &heard, SFD_CLOEXEC);
  auto wan = EmulatedWan::start(topology.value(), {options.seed, queue.value(), {}});
  if (!wan.ok()) return fail(wan.error().code == ErrorCode::invalid ? kBadInput : kRunFailed, wan.error().message);
  bool fine = true;
  if (commands.value().empty()) {
    wait_for_people(*wan.value(), topology.value(), signals);
  } else {
    fine = run_commands(*wan.value(), commands.value(), signals, before);
  }
  const WanAccount account = wan.value()->account();
  fmt::print("{}", describe(account));
  if (json) {
    const auto written = json->write(to_json(account).dump(2) + "\n");
    if (!written.ok()) return fail(kRunFailed, written.error().message);
  }
  return fine ? kDone : kRunFailed;
}

}  // namespace
}  // namespace xdc

int main(int argc, char** argv) {
  CLI::App app("Emulates the lines between a topology's datacenters on this machine.", "xdc-emu");
  xdc::Options options;
  app.footer(xdc::kFooter);
  app.add_option("TOPOLOGY", options.topology, "which datacenters and lines (TOML)");
  app.add_option("--exec", options.commands, "run a command in a datacenter; ends when all have ended (several times)")
      ->type_name("'DATACENTER: COMMAND'")
      ->allow_extra_args(false);
  app.add_option("--queue", options.queue, "what waits longer before a line is dropped (default: 50 ms)")->type_name("TIME");
  app.add_option("--seed", options.seed, "of random loss")->type_name("N")->check(xdc::whole_number());
  app.add_option("--json", options.json, "write what was imposed as JSON")->type_name("FILE");
  app.add_flag("--version", options.version, "print the version");
  xdc::refuse_empty_values(app, {"--queue", "--json"});
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? xdc::kDone : xdc::kBadInput;
  }
  if (options.version) {
    fmt::print("xdc-emu {}\n", xdc::program_version());
    return xdc::kDone;
  }
  if (options.topology.empty()) return xdc::fail(xdc::kBadInput, "which topology? Try topologies/two_offices.toml, or --help");
  return xdc::emulate(options);
}
