#include "tests/cli/checkpoint_runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

namespace xdc::cli {

namespace {

namespace fs = std::filesystem;

const std::string kScenario = R"(topology = ")" XDC_SOURCE_DIR R"(/topologies/two_offices.toml"
seed = 5
[model]
kind = "mlp"
[data]
source = "generated"
train_samples = 900
test_samples = 200
height = 8
width = 8
classes = 10
[train]
batch_per_rank = 16
optimizer = { kind = "adam", lr = 1e-3 }
stop = { steps = 24 }
eval_every = 6
[checkpoint]
every = 4
keep = 3
[[variant]]
name = "tree int8"
strategy = { kind = "hierarchical_allreduce" }
codec = { wan = { kind = "int8", error_feedback = true, rounding = "stochastic" } }
[[variant]]
name = "momentum"
strategy = { kind = "ring_allreduce", order = "contiguous" }
[variant.train]
optimizer = { kind = "sgd", lr = 0.05, momentum = 0.9 }
accumulation_steps = 2
[[variant]]
name = "servers"
strategy = { kind = "parameter_server", placement = "office", shards = 2 }
codec = { wan = { kind = "top_k", density = 0.1, error_feedback = true } }
[[variant]]
name = "local"
strategy = { kind = "local_sgd", period = 4 }
codec = { wan = { kind = "int8", error_feedback = true } }
)";

}  // namespace

Ended run(const Folder& folder, std::vector<std::string> arguments, const std::vector<std::string>& environment) {
  arguments.insert(arguments.begin(), folder.file("scenario.toml"));
  Program program(folder, arguments, environment);
  const auto exit = program.wait(kLong);
  REQUIRE(exit);
  return {exit->code, program.err(), program.out()};
}

void write_scenario(const Folder& folder, const std::string& more) { std::ofstream(folder.file("scenario.toml")) << kScenario << more; }

nlohmann::json report_in(const std::string& path) { return nlohmann::json::parse(read(path)); }

std::map<std::string, std::string> digests_in(const std::string& path) {
  std::map<std::string, std::string> digests;
  const auto report = report_in(path);
  for (const auto& variant : report.at("variants")) {
    digests[variant.at("name")] = variant.at("parameters_digest");
  }
  return digests;
}

std::map<std::string, std::string> simulated(const Folder& folder, const std::vector<std::string>& more) {
  std::string command = fmt::format("'{}' '{}' --json '{}'", XDC_SIM, folder.file("scenario.toml"), folder.file("sim.json"));
  for (const auto& argument : more) command += fmt::format(" '{}'", argument);
  REQUIRE(std::system((command + " > /dev/null 2>&1").c_str()) == 0);
  return digests_in(folder.file("sim.json"));
}

std::string steps(int64_t count) { return fmt::format("train.stop={{ steps = {} }}", count); }

std::vector<int64_t> saved_steps(const std::string& directory) {
  std::vector<int64_t> all;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename();
    if (name.starts_with("step-") && fs::exists(entry.path() / "manifest.json", error)) all.push_back(std::stoll(name.substr(5)));
  }
  std::sort(all.begin(), all.end());
  return all;
}

}  // namespace xdc::cli
