// What does a run that must succeed report?
#pragma once

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/cli/process.hpp"

namespace xdc::cli {

// xdc-sim with these arguments and --json -; fails the test, with what it said, where it does not end with 0.
inline nlohmann::json report_of(std::vector<std::string> arguments) {
  arguments.insert(arguments.end(), {"--json", "-"});
  const auto done = sim(arguments);
  INFO(done.err);
  REQUIRE(done.exit_code == 0);
  return nlohmann::json::parse(done.out);
}

}  // namespace xdc::cli
