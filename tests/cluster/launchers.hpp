// Three launchers, one a datacenter, on the loopback addresses 127.0.1.1, 127.0.2.1 and 127.0.3.1.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/cli/xdc_run_program.hpp"

namespace xdc::cluster {

// Machines of tests are busy, and stand still now and then. A run that is meant to go on would take hours.
inline constexpr double kLong = 60;
inline constexpr double kSoon = 20;

// A folder with a topology of three datacenters (beijing: two ranks, shanghai and guangzhou: one each) and a scenario: variants "ring",
// "tree", "ps" (one server in beijing).
class Site {
 public:
  Site();

  const std::vector<std::string>& datacenters() const { return datacenters_; }
  // A free range of ports below the ones that the kernel gives away: a test does not wait for another's.
  int port() const { return port_; }
  std::string folder() const { return folder_.path().string(); }
  std::string scenario() const { return folder_.file("scenario.toml"); }
  // Starts xdc-run SCENARIO with these, and with --port.
  std::unique_ptr<cli::Program> start(const std::string& name, std::vector<std::string> arguments,
                                      const std::vector<std::string>& environment = {});
  std::unique_ptr<cli::Program> start_datacenter(const std::string& name, std::vector<std::string> more = {});
  // The report that `start` with that name left, by --json.
  std::string digest_of(const std::string& name, int variant = 0) const;
  std::string json(const std::string& name) const { return folder_.file(name + ".json"); }
  // What xdc-sim says of the same.
  std::string simulated(const std::string& variant) const;
  // The log of a rank has this many steps.
  bool has_stepped(const std::string& rank) const;
  const cli::Folder& place() const { return folder_; }

 private:
  cli::Folder folder_;
  std::vector<std::string> datacenters_{"beijing", "shanghai", "guangzhou"};
  int port_ = 0;
};

// A run of all three that would take hours, once every rank trains.
struct Endless {
  Endless();
  cli::Program& of(const std::string& datacenter) { return *programs[datacenter == "beijing" ? 0 : datacenter == "shanghai" ? 1 : 2]; }

  Site site;
  std::vector<std::unique_ptr<cli::Program>> programs;
  std::vector<pid_t> ranks;  // of all
  bool all_ranks_gone(double seconds) const;
};

}  // namespace xdc::cluster
