// The options that run nothing, and those that change what is run.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/cli/process.hpp"
#include "tests/cli/report_of.hpp"
#include "tests/cli/workspace.hpp"

namespace xdc::cli {
namespace {

using Catch::Contains;
using nlohmann::json;

std::vector<std::string> names(const json& report) {
  std::vector<std::string> out;
  for (const auto& variant : report.at("variants")) out.push_back(variant.at("name"));
  return out;
}

TEST_CASE("option --help, --version and --list-devices answer and end with 0") {
  for (const auto& [option, text] :
       {std::pair("--help", "--variant"), std::pair("--version", "xdc-sim 0."), std::pair("--list-devices", "a100_80g")}) {
    const auto done = sim({option});
    CHECK(done.exit_code == 0);
    CHECK_THAT(done.out, Contains(text));
    CHECK(done.err.empty());
  }
}

TEST_CASE("option --validate prints the plan and runs nothing") {
  const Workspace workspace;
  const auto done = sim({workspace.scenario(), "--validate", "--set", "train.stop={ epochs = 1000000 }"});
  CHECK(done.exit_code == 0);
  CHECK_THAT(done.out,
             Contains("3 variants") && Contains("parameter_server, placement beijing, shards 1; wan none") && Contains("wan fp16"));
}

TEST_CASE("option --variant holds the output to those named, in the order of the file") {
  const Workspace workspace;
  const auto report = report_of({workspace.scenario(), "--variant", "tree", "--variant", "ps"});
  CHECK(names(report) == std::vector<std::string>{"ps", "tree"});
  CHECK(report.at("scenario_digest") == report_of({workspace.scenario()}).at("scenario_digest"));
}

TEST_CASE("an option's value does not swallow the scenario after it") {
  const Workspace workspace;
  CHECK(names(report_of({"--variant", "ps", "--set", "train.stop={ steps = 2 }", workspace.scenario()})) == std::vector<std::string>{"ps"});
}

TEST_CASE("option --set and --seed change what is run") {
  const Workspace workspace;
  const auto report =
      report_of({workspace.scenario(), "--set", "train.stop={ steps = 3 }", "--set", "variant.ring.train.stop.steps=4", "--seed", "9"});
  CHECK(report.at("seed") == 9);
  CHECK(report.at("variants")[0].at("steps") == 3);
  CHECK(report.at("variants")[1].at("steps") == 4);
  CHECK(report.at("variants")[0].at("parameters_digest") !=
        report_of({workspace.scenario(), "--set", "train.stop={ steps = 3 }"}).at("variants")[0].at("parameters_digest"));
}

TEST_CASE("a slower line is one option away") {
  const Workspace workspace;
  workspace.write("slow.toml", [] {
    auto text = Workspace::topology_text();
    return text.replace(text.find("100 Mbps"), 8, "100 kbps");
  }());
  const auto fast = report_of({workspace.scenario(), "--variant", "ring"});
  const auto slow = report_of({workspace.scenario(), "--variant", "ring", "--set", "topology=" + workspace.path("slow.toml")});
  CHECK(slow.at("variants")[0].at("step_time_s").at("mean") > fast.at("variants")[0].at("step_time_s").at("mean"));
  CHECK(slow.at("variants")[0].at("parameters_digest") == fast.at("variants")[0].at("parameters_digest"));
}

TEST_CASE("a byte-order mark, CRLF and a missing last newline are fine") {
  const Workspace workspace;
  std::string text = "\xEF\xBB\xBF";
  for (const char c : Workspace::scenario_text()) text += c == '\n' ? std::string("\r\n") : std::string(1, c);
  text.resize(text.size() - 2);
  workspace.write("windows.toml", text);
  CHECK(report_of({workspace.path("windows.toml"), "--variant", "ps"}).at("scenario_digest") ==
        report_of({workspace.scenario(), "--variant", "ps"}).at("scenario_digest"));
}

}  // namespace
}  // namespace xdc::cli
