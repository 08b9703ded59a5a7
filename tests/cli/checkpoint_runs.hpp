// Runs that save themselves: a scenario with every kind of state that a member can have, and what came of it.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tests/cli/xdc_run_program.hpp"

namespace xdc::cli {

inline constexpr double kLong = 120;

// scenario.toml: three ranks in two datacenters, 24 steps, [checkpoint] at its end; variants "tree int8", "momentum", "servers", "local".
void write_scenario(const Folder& folder, const std::string& more = "");
// As the value of --set.
std::string steps(int64_t count);

struct Ended {
  int code = 0;
  std::string err, out;
};

// xdc-run with the scenario and these arguments, to its end.
Ended run(const Folder& folder, std::vector<std::string> arguments, const std::vector<std::string>& environment = {});

nlohmann::json report_in(const std::string& path);
// By variant.
std::map<std::string, std::string> digests_in(const std::string& path);
// xdc-sim's.
std::map<std::string, std::string> simulated(const Folder& folder, const std::vector<std::string>& more);

// The steps of which there is a checkpoint, newest last.
std::vector<int64_t> saved_steps(const std::string& directory);

}  // namespace xdc::cli
