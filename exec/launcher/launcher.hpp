// How does one command become a run of many ranks? One process a member that is started here, and a store for all of them to meet at.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/report/report.hpp"
#include "core/validate/run_spec.hpp"
#include "exec/launcher/run_status.hpp"
#include "exec/launcher/session.hpp"

namespace xdc {

struct LaunchOptions {
  // The command line of a rank (argv[0] included) up to what tells it which one it is: scenario, --set, --variant, ...
  std::vector<std::string> rank_arguments;
  // Where each rank's output is also written, and its events; empty: nowhere. Must exist.
  std::string log_directory;
  // Hears each line of a rank, "[beijing/3] ..."; and a few times a second how far the run is, with what ranks have said since the last
  // time. On the calling thread.
  std::function<void(std::string_view line)> show_line;
  std::function<void(const RunStatus& status, std::span<const StatusRecord> said)> show_status;
  // Which variant of the command this is: launchers run the same ones in the same order.
  int number = 0;
  Placement placement;                    // of this variant
  Fingerprint facts = {};                 // compared where there are other launchers
  std::vector<std::string> allowed = {};  // facts that may differ
  int events = -1;                        // where the ranks here also write their events (EventFile); -1: nowhere. Borrowed
  std::vector<std::string> under = {};    // the words of a command that runs each rank; none: they run by themselves
  // By datacenter: descriptors of the network namespaces that its ranks live in; none: in this process's own. Borrowed.
  std::vector<int> networks = {};
};

struct Launched {
  std::vector<MemberReport> reports;  // of every member of the run
  bool stopped = false;               // a signal, here or at another launcher, ended it in good order
};

// Waits for the other launchers, starts one child a member of its share (this very program, see rank_process.hpp), passes their output
// on, and returns when the run has ended everywhere, with every member's report. The first SIGINT, SIGTERM or SIGHUP asks all ranks
// to finish their round; a second one kills those here. When one rank fails, the others get a moment to see it and are ended, at
// every launcher.
// Errors: failed, names the rank that failed first, how, and what it said last, the same at every launcher; aborted, after a signal that
// was not waited for; those of Session::meet.
// Requirement: called by the main thread; the process has no other children.
Result<Launched> launch(Session& session, const RunSpec& spec, const LaunchOptions& options);

// "beijing/3", "beijing/server0": what stands in front of a member's lines.
std::string short_name(const Cluster& cluster, MemberId member);

}  // namespace xdc
