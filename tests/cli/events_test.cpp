// Do both programs tell the same events of one scenario, in one schema, and refuse early what they could not write?
#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tests/cli/xdc_run_program.hpp"

namespace xdc::cli {

namespace {

using Json = nlohmann::json;

const std::string kQuickstart = XDC_SOURCE_DIR "/scenarios/quickstart.toml";
constexpr double kLong = 120;

std::vector<std::string> few_steps(std::vector<std::string> more) {
  std::vector<std::string> arguments{kQuickstart,
                                     "--variant",
                                     "ring",
                                     "--variant",
                                     "parameter server",
                                     "--variant",
                                     "hierarchical fp16",
                                     "--set",
                                     "train.stop={ steps = 4 }",
                                     "--set",
                                     "train.eval_every=2",
                                     "--set",
                                     "expect={}"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

int simulate(const std::vector<std::string>& arguments, std::string* err = nullptr) {
  const Folder folder;
  std::string command = XDC_SIM;
  for (const auto& argument : arguments) command += fmt::format(" '{}'", argument);
  const int status = ::system(fmt::format("{} > /dev/null 2> {}", command, folder.file("err")).c_str());
  if (err != nullptr) *err = read(folder.file("err"));
  return WEXITSTATUS(status);
}

std::vector<Json> events_of(const std::string& path) {
  std::istringstream lines(read(path));
  std::vector<Json> events;
  for (std::string line; std::getline(lines, line);) events.push_back(Json::parse(line));
  return events;
}

// What must be equal in both worlds: everything but times.
std::multiset<std::string> told(const std::vector<Json>& events) {
  std::multiset<std::string> out;
  for (Json event : events) {
    for (const auto* key : {"time_ns", "duration_ns", "compute_ns"}) event.erase(key);
    out.insert(event.dump());
  }
  return out;
}

std::set<std::string> keys_of(const Json& event) {
  std::set<std::string> out;
  for (const auto& [key, value] : event.items()) out.insert(key);
  return out;
}

}  // namespace

TEST_CASE("the simulator and the real run tell the same events with the same losses, times aside", "[cli]") {
  const Folder folder;
  output_of(few_steps({"--events", folder.file("run.jsonl")}), kLong);
  REQUIRE(simulate(few_steps({"--events", folder.file("sim.jsonl"), "--json", folder.file("sim.json")})) == 0);
  const auto real = events_of(folder.file("run.jsonl")), simulated = events_of(folder.file("sim.jsonl"));
  CHECK(told(real) == told(simulated));
  std::map<std::string, int> steps;
  std::map<std::string, std::map<int64_t, double>> losses;
  for (const auto& event : real) {
    if (event["event"] != "step") continue;
    CHECK(keys_of(event) == std::set<std::string>{"time_ns", "variant", "datacenter", "rank", "step", "event", "samples", "loss",
                                                  "duration_ns", "compute_ns"});
    ++steps[event["variant"]];
    losses[event["variant"]][event["step"]] += event["loss"].get<double>();
  }
  // Four steps of each of three workers; a server takes none.
  CHECK(steps == std::map<std::string, int>{{"ring", 12}, {"parameter server", 12}, {"hierarchical fp16", 12}});
  // Parts of the mean: their sum is the loss of the report.
  for (const auto& variant : Json::parse(read(folder.file("sim.json")))["variants"]) {
    for (size_t i = 0; i < 4; ++i) {
      CHECK(losses[variant["name"]][variant["series"]["step"][i]] == Approx(variant["series"]["loss"][i].get<double>()));
    }
  }
}

TEST_CASE("events of a simulation are in order of variants, then of virtual time, whatever --jobs says", "[cli]") {
  const Folder folder;
  REQUIRE(simulate(few_steps({"--events", folder.file("a.jsonl"), "--jobs", "1"})) == 0);
  REQUIRE(simulate(few_steps({"--events", folder.file("b.jsonl"), "--jobs", "3"})) == 0);
  CHECK(read(folder.file("a.jsonl")) == read(folder.file("b.jsonl")));
  std::vector<std::string> variants;
  int64_t last = 0;
  for (const auto& event : events_of(folder.file("a.jsonl"))) {
    if (variants.empty() || event["variant"] != variants.back()) {
      variants.push_back(event["variant"]);
      last = 0;
    }
    CHECK(event["time_ns"].get<int64_t>() >= last);
    last = event["time_ns"];
  }
  CHECK(variants == std::vector<std::string>{"parameter server", "ring", "hierarchical fp16"});  // as in the file
}

TEST_CASE("in a phantom run every rank tells its steps without a loss, also one that another acts for", "[cli]") {
  const Folder folder;
  const std::vector<std::string> phantom{"--set", "payload=phantom"};
  const auto with = [&](const std::string& file, std::vector<std::string> more) {
    auto arguments = few_steps({"--events", folder.file(file)});
    arguments.insert(arguments.end(), phantom.begin(), phantom.end());
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  };
  output_of(with("run.jsonl", {"--rehearse-without-waiting"}), kLong);
  REQUIRE(simulate(with("sim.jsonl", {})) == 0);
  REQUIRE(simulate(with("expanded.jsonl", {"--expand"})) == 0);
  const auto real = events_of(folder.file("run.jsonl"));
  CHECK(std::all_of(real.begin(), real.end(), [](const Json& event) { return event["event"] != "step" || event["loss"].is_null(); }));
  CHECK(told(real) == told(events_of(folder.file("sim.jsonl"))));
  CHECK(told(real) == told(events_of(folder.file("expanded.jsonl"))));
}

TEST_CASE("a file for events that cannot be written is refused before anything runs", "[cli]") {
  const Folder folder;
  for (const auto& [path, why] : std::map<std::string, std::string>{{"/proc/no/such.jsonl", "/proc/no/such.jsonl cannot be written"},
                                                                    {folder.path().native(), "directory"},
                                                                    {"-", "wants a file"}}) {
    std::string err;
    CHECK(simulate(few_steps({"--events", path}), &err) == 2);
    CHECK(err.find("--events") != std::string::npos);
    CHECK(err.find(why) != std::string::npos);
    Program program(folder, few_steps({"--events", path}));
    const auto exit = program.wait(kLong);
    REQUIRE(exit);
    INFO(program.err());
    CHECK(exit->code == 2);
    CHECK(program.err().find("--events") != std::string::npos);
    CHECK(program.err().find("processes") == std::string::npos);
  }
  CHECK(simulate(few_steps({"--events", folder.file("e"), "--check"})) == 2);
}

TEST_CASE("a file that two options name, or an option with an empty value, is refused before anything runs", "[cli]") {
  const Folder folder;
  const std::string file = folder.file("both"), again = folder.file("./both");
  for (const auto& [arguments, why] :
       {std::pair(std::vector<std::string>{"--json", file, "--events", again}, "--events: " + again + " is the file of --json already"),
        std::pair(std::vector<std::string>{"--json", "", "--events", file}, std::string("--json: is empty")),
        std::pair(std::vector<std::string>{"--events", ""}, std::string("--events: is empty"))}) {
    std::string err;
    CHECK(simulate(few_steps(arguments), &err) == 2);
    CHECK_THAT(err, Catch::Contains(why));
    Program program(folder, few_steps(arguments));
    const auto exit = program.wait(kLong);
    REQUIRE(exit);
    CHECK(exit->code == 2);
    CHECK_THAT(program.err(), Catch::Contains(why));
    CHECK_FALSE(std::filesystem::exists(file));
  }
  CHECK(simulate(few_steps({"--json", "/dev/null", "--events", "/dev/null"})) == 0);
}

TEST_CASE("a disk that fills up under the events ends them with a warning, and the run goes on", "[cli]") {
  const Folder folder;
  Program program(folder, few_steps({"--events", "/dev/full"}));
  const auto exit = program.wait(kLong);
  REQUIRE(exit);
  CHECK(exit->code == 0);
  CHECK(program.err().find("events of office rank 0 cannot be written any more: No space left on device") != std::string::npos);
}

}  // namespace xdc::cli
