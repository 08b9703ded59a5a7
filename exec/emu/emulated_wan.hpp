// What stands between datacenters that are all on this machine? A network namespace each, joined by TUN devices through one thread that
// makes every packet wait as the topology's lines would.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/config/topology.hpp"
#include "exec/emu/emulated_line.hpp"
#include "exec/emu/network_namespace.hpp"

namespace xdc {

// From `at` on a line is cut, or as it was again. `to` < 0: for all lines of `from`.
struct LineChange {
  Duration at;  // since begin_faults()
  int link = 0;
  bool cut = false;
};

struct WanAccount {
  struct Line {
    EmulatedLine::Settings settings;
    EmulatedLine::Account account;
  };
  std::vector<Line> lines;
  int64_t packets = 0;                      // handed over, of whatever size
  int64_t refused = 0;                      // that a namespace did not take
  int64_t to_nowhere = 0;                   // that no datacenter was meant by
  Duration mean_late, p99_late, most_late;  // how much later than due packets were handed over
  bool realtime = false;                    // the thread goes before all others
};

class EmulatedWan {
 public:
  struct Options {
    uint64_t seed = 0;
    Duration queue = milliseconds(50);
    std::vector<LineChange> changes;
  };

  // Errors: unsupported, when this process may not make namespaces or TUN devices; failed.
  static Result<std::unique_ptr<EmulatedWan>> start(const Topology& topology, const Options& options);
  virtual ~EmulatedWan() = default;

  virtual const NetworkNamespace& datacenter(int index) const = 0;
  // Now is when the changes' times count from.
  virtual void begin_faults() = 0;
  // Of what was carried until now.
  virtual WanAccount account() const = 0;

  // Of a node, in every emulated network: 10.99.<datacenter + 1>.<node + 1>. At most 250 of each.
  static std::string address(int datacenter, int node);
};

// For people: a line each.
std::string describe(const WanAccount& account);

}  // namespace xdc
