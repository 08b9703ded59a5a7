// What a run prints, writes and returns.
#include <signal.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/cli/process.hpp"
#include "tests/cli/workspace.hpp"

namespace xdc::cli {
namespace {

using Catch::Contains;
using Json = nlohmann::ordered_json;

// What two runs may differ in.
void forget_wall_clock(Json& json) {
  if (json.is_object()) {
    for (auto it = json.begin(); it != json.end();) {
      if (it.key().find("wall") != std::string::npos || it.key() == "version") {
        it = json.erase(it);
      } else {
        forget_wall_clock(it.value());
        ++it;
      }
    }
  } else if (json.is_array()) {
    for (auto& item : json) forget_wall_clock(item);
  }
}

std::string comparable(const std::string& text) {
  auto json = Json::parse(text);
  forget_wall_clock(json);
  return json.dump();
}

// Processes whose parent is `parent`, from /proc.
std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> out;
  std::ifstream list("/proc/" + std::to_string(parent) + "/task/" + std::to_string(parent) + "/children");
  for (pid_t pid; list >> pid;) out.push_back(pid);
  return out;
}

TEST_CASE("a run ends with the table on stdout, nothing on stderr, and 0") {
  const Workspace workspace;
  const auto done = sim({workspace.scenario()});
  CHECK(done.exit_code == 0);
  CHECK(done.err.empty());
  CHECK_THAT(done.out,
             Contains("ps") && Contains("ring") && Contains("tree") && Contains("best for bytes") && Contains("equal to the closed forms"));
  CHECK(done.out.find('\x1b') == std::string::npos);
}

TEST_CASE("a file named by --json holds schema 1, and nothing else is left beside it") {
  const Workspace workspace;
  const auto done = sim({workspace.scenario(), "--json", workspace.path("report.json")});
  CHECK(done.exit_code == 0);
  CHECK_THAT(done.out, Contains("best for"));
  const auto report = Json::parse(workspace.read("report.json"));
  CHECK(report.at("schema") == 1);
  CHECK(report.at("program") == "xdc-sim");
  CHECK(report.at("simgrid").at("options").size() > 3);
  REQUIRE(report.at("variants").size() == 3);
  for (const auto& variant : report.at("variants")) {
    CHECK(variant.at("ranks") == 3);
    CHECK(variant.at("steps") == 20);
    CHECK(variant.at("parameters_digest").get<std::string>().size() == 32);
    CHECK(variant.at("warnings").empty());
    for (const auto& link : variant.at("links")) CHECK(link.at("payload_bytes_per_step") == link.at("closed_form_bytes_per_step"));
    CHECK(variant.at("series").at("loss").size() == 20);
    CHECK(variant.at("faults").at("samples_lost") == 0);
  }
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(workspace.path(""))) files += entry.is_regular_file() ? 1 : 0;
  CHECK(files == 3);
}

TEST_CASE("option --json - leaves stdout to the JSON and sends the table to stderr") {
  const Workspace workspace;
  const auto done = sim({workspace.scenario(), "--json", "-"});
  CHECK(done.exit_code == 0);
  CHECK(Json::parse(done.out).at("variants").size() == 3);
  CHECK_THAT(done.err, Contains("best for bytes"));
}

TEST_CASE("two runs are equal apart from wall-clock keys, whatever the number of jobs") {
  const Workspace workspace;
  const auto once = sim({workspace.scenario(), "--json", "-", "--jobs", "1"});
  const auto again = sim({workspace.scenario(), "--json", "-", "--jobs", "3"});
  REQUIRE(once.exit_code == 0);
  CHECK(comparable(once.out) == comparable(again.out));
}

TEST_CASE("real and phantom payload take the same virtual time and the same bytes") {
  const Workspace workspace;
  const auto real = Json::parse(sim({workspace.scenario(), "--json", "-"}).out);
  const auto phantom = Json::parse(sim({workspace.scenario(), "--json", "-", "--set", "payload=phantom"}).out);
  for (size_t i = 0; i < 3; ++i) {
    const auto& a = real.at("variants")[i];
    const auto& b = phantom.at("variants")[i];
    for (const auto* key : {"elapsed_s", "step_time_s", "compute_s", "links"}) CHECK(a.at(key) == b.at(key));
    CHECK(a.at("series").at("time_s") == b.at("series").at("time_s"));
    CHECK(b.at("accuracy").is_null());
    CHECK(b.at("loss").is_null());
    CHECK(b.at("parameters_digest").is_null());
  }
}

TEST_CASE("an expectation that fails is exit code 1 and is named") {
  const Workspace workspace;
  const auto done = sim({workspace.scenario(), "--set", "expect.loss_at_most=0.000001"});
  CHECK(done.exit_code == 1);
  CHECK_THAT(done.out, Contains("ps: expectation not met: loss_at_most = 1e-06, but it is"));
  CHECK(sim({workspace.scenario(), "--set", "expect.accuracy_at_least=0"}).exit_code == 0);
}

TEST_CASE("colour is for terminals, and not for those with NO_COLOR") {
  const Workspace workspace;
  // script(1) gives the program a terminal of its own.
  const auto on_terminal = [&](const std::vector<std::string>& environment) {
    const std::string command = std::string(XDC_SIM) + " " + workspace.scenario();
    return Process({"script", "-qec", command, "/dev/null"}, environment).finish();
  };
  const auto coloured = on_terminal({"TERM=xterm"});
  CHECK_THAT(coloured.out, Contains("\x1b[32m") && Contains("variants done"));
  CHECK(on_terminal({"TERM=xterm", "NO_COLOR=1"}).out.find("\x1b[32m") == std::string::npos);
}

TEST_CASE("an interrupt ends the children, prints what is done, and returns 3") {
  const Workspace workspace;
  // The first variant ends at once; the others would take very long.
  Process process({XDC_SIM, workspace.scenario(), "--jobs", "2", "--json", workspace.path("report.json"), "--set",
                   "variant.ps.train.stop={ steps = 2 }", "--set", "variant.ring.train.stop={ steps = 100000000 }", "--set",
                   "variant.tree.train.stop={ steps = 100000000 }", "--set", "payload=phantom"});
  // The short one is done when the same two have been running for a while.
  std::vector<pid_t> children;
  for (int i = 0, steady = 0; i < 300 && steady < 5; ++i) {
    usleep(100'000);
    const auto now = children_of(process.pid());
    steady = now.size() == 2 && now == children ? steady + 1 : 0;
    children = now;
  }
  process.send(SIGINT);
  const auto done = process.finish();
  CHECK(done.exit_code == 3);
  CHECK_THAT(done.err, Contains("interrupted: 1 of 3 variants were done"));
  CHECK_THAT(done.out, Contains("ps"));
  for (const auto pid : children) CHECK(kill(pid, 0) != 0);
  CHECK(Json::parse(workspace.read("report.json")).at("variants").size() == 1);
}

TEST_CASE("a simulation that is killed is reported with its variant and the signal, and the others go on") {
  const Workspace workspace;
  Process process(
      {XDC_SIM, workspace.scenario(), "--jobs", "1", "--set", "variant.ps.train.stop={ steps = 100000000 }", "--set", "payload=phantom"});
  std::vector<pid_t> children;
  for (int i = 0; i < 300 && children.empty(); ++i) {
    usleep(50'000);
    children = children_of(process.pid());
  }
  REQUIRE(children.size() == 1);
  kill(children[0], SIGSEGV);
  const auto done = process.finish();
  CHECK(done.exit_code == 3);
  CHECK_THAT(done.out, Contains("ps did not finish: its process was killed by signal 11") && Contains("ring") && Contains("tree"));
}

}  // namespace
}  // namespace xdc::cli
