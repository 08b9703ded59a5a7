// Which SimGrid runs, and with which settings? The engine is SimGrid's, one per process for ever: whoever runs several worlds
// forks (xdc-sim does, for --jobs).
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "sim/agenda.hpp"

namespace xdc {

// "3.32.0"
std::string simgrid_version();
// Everything that is pinned, for the report: SimGrid's options, and as xdc/... the constants of core/config/network_constants.hpp.
const std::vector<std::pair<std::string, std::string>>& simgrid_options();

class SimEngine {
 public:
  SimEngine();
  SimEngine(const SimEngine&) = delete;
  SimEngine& operator=(const SimEngine&) = delete;

  // Until no lane is left. `stuck` is called when lanes are left that nothing will ever wake, before they are killed, and when
  // virtual time reaches the horizon.
  void run(const std::function<void(std::string_view why)>& stuck);

 private:
  sg::Engine* engine_;
};

}  // namespace xdc
