// One rank that acts for others is held to everyone acting for himself: every figure of the report, to the nanosecond and the byte.
#include <fmt/format.h>

#include <array>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/cli/process.hpp"
#include "tests/cli/workspace.hpp"

namespace xdc::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kScenario = R"(topology = "topology.toml"
seed = 1
payload = "phantom"
[model]
kind = "lenet"
[data]
source = "generated"
train_samples = 2777
test_samples = 10
height = 28
width = 28
channels = 1
classes = 10
[train]
batch_per_rank = 16
optimizer = { kind = "adam", lr = 1e-3 }
stop = { epochs = 2 }
bucket = "50 kB"
[[variant]]
name = "mesh"
strategy = { kind = "hierarchical_allreduce", exchange = "mesh" }
[[variant]]
name = "ring of datacenters, a vote each round"
commit = "vote"
strategy = { kind = "hierarchical_allreduce", exchange = "ring" }
[[variant]]
name = "allgather of top-k"
strategy = { kind = "hierarchical_allreduce" }
codec = { wan = { kind = "top_k", density = 0.1 } }
[[variant]]
name = "leader, int8"
strategy = { kind = "hierarchical_allreduce", lanes = 1 }
codec = { wan = { kind = "int8", error_feedback = true }, lan = { kind = "fp16" } }
[[variant]]
name = "local"
strategy = { kind = "local_sgd", period = 3 }
[[variant]]
name = "servers"
strategy = { kind = "parameter_server", placement = "b", shards = 2 }
[[variant]]
name = "servers everywhere"
strategy = { kind = "parameter_server", placement = "sharded", aggregator = true }
codec = { wan = { kind = "top_k", density = 0.1 } }
[[variant]]
name = "aggregators"
strategy = { kind = "parameter_server", placement = "a", aggregator = true, shards = 3 }
)";

// Three datacenters of 12 ranks: `lan` and `line` say what joins them, `more` is written into the second datacenter.
std::string topology(const std::string& lan, const std::string& line, const std::string& more) {
  std::string text;
  const std::array<std::pair<int, int>, 3> shapes{{{3, 4}, {6, 2}, {12, 1}}};
  for (size_t d = 0; d < shapes.size(); ++d) {
    text += fmt::format(
        "[[datacenter]]\nname = \"{}\"\nnodes = {}\ndevices_per_node = {}\ndevice = \"{}\"\nlan = {{ bandwidth = \"{}\", latency = \"5 "
        "us\" }}\n{}",
        static_cast<char>('a' + d), shapes[d].first, shapes[d].second, d == 0 ? "v100" : "t4", lan, d == 1 ? more : "");
  }
  // a and c are joined through b.
  for (const char* between : {R"("a", "b")", R"("b", "c")"}) {
    text += fmt::format("[[link]]\nbetween = [{}]\n{}\n", between, line);
  }
  return text;
}

// The report of either run, without what is a run's own.
Json report(const Workspace& workspace, bool expand, const std::vector<std::string>& more = {}) {
  std::vector<std::string> words{workspace.scenario(), "--json", "-"};
  words.insert(words.end(), more.begin(), more.end());
  if (expand) words.emplace_back("--expand");
  const auto done = sim(words);
  INFO(done.err);
  REQUIRE(done.exit_code == 0);
  auto json = Json::parse(done.out);
  for (auto& variant : json.at("variants")) {
    variant.erase("wall_s");
  }
  return json;
}

void check_equal(Json folded, Json expanded) {
  REQUIRE(folded.at("variants").size() == 8);
  for (size_t v = 0; v < 8; ++v) {
    auto& one = folded.at("variants")[v];
    auto& other = expanded.at("variants")[v];
    INFO(one.at("name"));
    CHECK(other.at("actors") == other.at("ranks").get<int>() + other.at("servers").get<int>());
    CHECK(one.at("actors").get<int>() < other.at("actors").get<int>());
    one.erase("actors");
    other.erase("actors");
    CHECK(one.dump() == other.dump());
  }
}

}  // namespace

TEST_CASE("one rank that acts for its like changes no figure of a report") {
  struct Case {
    const char* what;
    const char *lan, *line, *more;
  };
  const auto at = GENERATE(
      Case{"the lines bind", "10 Gbps", "bandwidth = \"300 Mbps\"\nlatency = \"14 ms\"", ""},
      Case{"the nodes' ports bind", "200 Mbps", "bandwidth = \"10 Gbps\"\nlatency = \"3 ms\"", ""},
      Case{"windows bind, and connections start slowly", "10 Gbps",
           "bandwidth = \"3 Gbps\"\nlatency = \"20 ms\"\nwindow = \"64 kB\"\nstreams = 2", ""},
      Case{"an uplink binds", "10 Gbps", "bandwidth = \"1 Gbps\"\nlatency = \"7 ms\"\nloss = 0.0001",
           "uplink = { bandwidth = \"200 Mbps\", latency = \"1 ms\" }\nintra_node = { bandwidth = \"100 Gbps\", latency = \"1 us\" }\n"});
  INFO(at.what);
  const Workspace workspace;
  workspace.write("scenario.toml", kScenario);
  workspace.write("topology.toml", topology(at.lan, at.line, at.more));
  check_equal(report(workspace, false), report(workspace, true));
}

TEST_CASE("one rank that acts for its like changes no figure at a cost profile's pace either") {
  const Workspace workspace;
  workspace.write("scenario.toml", kScenario);
  workspace.write("topology.toml", topology("10 Gbps", "bandwidth = \"1 Gbps\"\nlatency = \"14 ms\"", ""));
  const std::vector<std::string> paced{"--set", "model={ cost_profile = \"ppocr_v4_server_rec\" }", "--set", "train.bucket=25 MB"};
  check_equal(report(workspace, false, paced), report(workspace, true, paced));
}

TEST_CASE("ranks with contents of their own never act for each other") {
  const Workspace workspace;
  const auto done = sim({workspace.scenario(), "--json", "-"});
  REQUIRE(done.exit_code == 0);
  for (const auto& variant : Json::parse(done.out).at("variants")) {
    CHECK(variant.at("actors") == variant.at("ranks").get<int>() + variant.at("servers").get<int>());
  }
}

}  // namespace xdc::cli
