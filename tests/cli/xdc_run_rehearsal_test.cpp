// Does a rehearsal send what a simulation says is sent, keep its memory small, and say what it is?
#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/cli/xdc_run_program.hpp"

namespace xdc::cli {

namespace {

using Json = nlohmann::json;

const std::string kQuickstart = XDC_SOURCE_DIR "/scenarios/quickstart.toml";
constexpr double kLong = 120;

std::vector<std::string> phantom(std::vector<std::string> more) {
  std::vector<std::string> arguments{kQuickstart, "--json", "-", "--set", "payload=phantom", "--set", "expect={}"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

Json rehearse(const std::vector<std::string>& arguments) { return Json::parse(output_of(arguments, kLong)); }

Json simulate(const std::vector<std::string>& arguments) {
  const Folder folder;
  std::string command = XDC_SIM;
  for (const auto& argument : arguments) command += fmt::format(" '{}'", argument);
  REQUIRE(::system(fmt::format("{} > {} 2> /dev/null", command, folder.file("report")).c_str()) == 0);
  return Json::parse(read(folder.file("report")));
}

void check_same_bytes(const Json& rehearsed, const Json& simulated) {
  REQUIRE(rehearsed["variants"].size() == simulated["variants"].size());
  for (size_t v = 0; v < rehearsed["variants"].size(); ++v) {
    const auto& here = rehearsed["variants"][v];
    const auto& there = simulated["variants"][v];
    INFO(here["name"]);
    REQUIRE(here["links"].size() == there["links"].size());
    REQUIRE(here["links"].size() == 2);
    for (size_t l = 0; l < 2; ++l) {
      CHECK(here["links"][l]["payload_bytes_per_step"].get<double>() > 0);
      CHECK(here["links"][l]["payload_bytes_per_step"] == there["links"][l]["payload_bytes_per_step"]);
      CHECK(here["links"][l]["payload_bytes_per_step"] == here["links"][l]["closed_form_bytes_per_step"]);
    }
    CHECK(here["loss"].is_null());
    CHECK(here["accuracy"].is_null());
    CHECK(here["series"]["loss"][0].is_null());
    CHECK(here["steps"] == there["steps"]);
  }
}

int64_t peak_kib(pid_t pid) {
  std::istringstream lines(read(fmt::format("/proc/{}/status", pid)));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("VmHWM:")) return std::stoll(line.substr(6));
  }
  return 0;
}

}  // namespace

TEST_CASE("a rehearsal sends on every line what the simulator says of the same scenario, and is no training", "[cli]") {
  const auto arguments = phantom({"--set", "train.stop={ steps = 5 }"});
  const auto rehearsed = rehearse(arguments);
  CHECK(rehearsed["rehearsal"]["waits_for_computation"] == true);
  const auto simulated = simulate(arguments);
  CHECK(simulated["rehearsal"].is_null());
  check_same_bytes(rehearsed, simulated);
}

TEST_CASE("a rehearsal with a cost profile sends the profile's bytes", "[cli]") {
  const auto arguments = phantom(
      {"--set", "train.stop={ steps = 2 }", "--set", "model.cost_profile=resnet50", "--variant", "hierarchical fp16", "--variant", "ring"});
  auto without = arguments;
  without.emplace_back("--rehearse-without-waiting");
  const auto rehearsed = rehearse(without);
  CHECK(rehearsed["rehearsal"]["waits_for_computation"] == false);
  CHECK(rehearsed["cost_profile_charged"] == true);
  check_same_bytes(rehearsed, simulate(arguments));
}

TEST_CASE("a rehearsal waits for computations as long as they are modelled to take", "[cli]") {
  const auto arguments =
      phantom({"--set", "train.stop={ steps = 2 }", "--set", "model.cost_profile=resnet50", "--variant", "hierarchical"});
  const auto modelled = simulate(arguments)["variants"][0]["compute_s"].get<double>();
  REQUIRE(modelled > 1);
  CHECK(rehearse(arguments)["variants"][0]["compute_s"].get<double>() >= 0.99 * modelled);
  auto without = arguments;
  without.emplace_back("--rehearse-without-waiting");
  CHECK(rehearse(without)["variants"][0]["compute_s"].get<double>() < modelled);
}

TEST_CASE("a rank that rehearses half a gigabyte of parameters stays small", "[cli]") {
  const Folder folder;
  Program program(folder, phantom({"--rehearse-without-waiting", "--set", "train.stop={ steps = 2 }", "--set",
                                   "model.cost_profile=bert_base", "--set", "train.batch_per_rank=2", "--variant", "hierarchical"}));
  std::map<pid_t, int64_t> peaks;
  std::optional<Exit> exit;
  REQUIRE(eventually(kLong, [&] {
    for (const pid_t rank : program.ranks()) peaks[rank] = std::max(peaks[rank], peak_kib(rank));
    exit = program.wait(0.01);
    return exit.has_value();
  }));
  INFO(program.err());
  REQUIRE(exit->code == 0);
  REQUIRE(peaks.size() == 3);
  for (const auto& [rank, peak] : peaks) {
    CHECK(peak > 0);
    CHECK(peak < 250 * 1024);  // the gradient alone would be 427 MiB
  }
}

TEST_CASE("what only means something in a rehearsal, or nothing in one, is refused", "[cli]") {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases{
      {{kQuickstart, "--rehearse-without-waiting"}, "no rehearsal"},
      {{kQuickstart, "--set", "payload=phantom", "--device", "cpu"}, "computes nothing"},
  };
  for (const auto& [arguments, message] : cases) {
    const Folder folder;
    Program program(folder, arguments);
    const auto exit = program.wait(kLong);
    REQUIRE(exit);
    INFO(program.err());
    CHECK(exit->code == 2);
    CHECK(program.err().find(message) != std::string::npos);
  }
}

}  // namespace xdc::cli
