// Every strategy, exchange and codec on lines of every kind: the payload that crossed each line is what the closed form says, exactly.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/cli/process.hpp"
#include "tests/cli/workspace.hpp"

namespace xdc::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Site {
  const char* name;
  int nodes, devices;
};
struct Case {
  const char* what;
  std::vector<Site> sites;
  std::vector<std::pair<const char*, const char*>> lines;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      {"two like datacenters", {{"a", 1, 4}, {"b", 2, 2}}, {{"a", "b"}}},
      {"a rank against five", {{"a", 1, 1}, {"b", 5, 1}}, {{"a", "b"}}},
      {"three unequal datacenters, each joined to each", {{"a", 1, 3}, {"b", 2, 1}, {"c", 1, 4}}, {{"a", "b"}, {"b", "c"}, {"a", "c"}}},
      {"a chain of four, so that most routes cross several lines",
       {{"a", 1, 2}, {"b", 1, 2}, {"c", 1, 2}, {"d", 1, 2}},
       {{"a", "b"}, {"b", "c"}, {"c", "d"}}},
      {"a star of five around the smallest",
       {{"a", 1, 1}, {"b", 1, 3}, {"c", 2, 2}, {"d", 7, 1}, {"e", 1, 2}},
       {{"a", "b"}, {"a", "c"}, {"a", "d"}, {"a", "e"}}},
      {"one datacenter", {{"a", 2, 3}}, {}},
  };
  return all;
}

std::string topology(const Case& at) {
  std::string text;
  for (const auto& site : at.sites) {
    text += fmt::format(
        "[[datacenter]]\nname = \"{}\"\nnodes = {}\ndevices_per_node = {}\nlan = {{ bandwidth = \"10 Gbps\", latency = \"5 us\" }}\n",
        site.name, site.nodes, site.devices);
  }
  for (const auto& [one, other] : at.lines) {
    text += fmt::format("[[link]]\nbetween = [\"{}\", \"{}\"]\nbandwidth = \"1 Gbps\"\nlatency = \"9 ms\"\n", one, other);
  }
  return text;
}

struct Strategy {
  const char* text;
  bool takes_top_k = false;
};

// 784 x 128 + 128 + 128 x 10 + 10 parameters: 101,770, which nothing here divides.
std::string scenario(int& variants) {
  const std::vector<Strategy> strategies{
      {R"(kind = "parameter_server", placement = "a")", true},
      {R"(kind = "parameter_server", placement = "a", shards = 3)", true},
      {R"(kind = "parameter_server", placement = "a", aggregator = true)", true},
      {R"(kind = "parameter_server", placement = "sharded", shards = 2)", true},
      {R"(kind = "parameter_server", placement = "sharded", aggregator = true)", true},
      {R"(kind = "parameter_server", placement = "a", mode = "async")", true},
      {R"(kind = "parameter_server", placement = "sharded", shards = 2, mode = "ssp", staleness = 1)", true},
      {R"(kind = "ring_allreduce", order = "contiguous")"},
      {R"(kind = "ring_allreduce", order = "interleaved")"},
      {R"(kind = "hierarchical_allreduce", exchange = "ring")"},
      {R"(kind = "hierarchical_allreduce", exchange = "mesh")"},
      {R"(kind = "hierarchical_allreduce", exchange = "allgather")", true},
      {R"(kind = "hierarchical_allreduce", exchange = "mesh", lanes = 1)"},
      {R"(kind = "local_sgd", period = 2, exchange = "ring")"},
      {R"(kind = "local_sgd", period = 2, exchange = "allgather")", true},
  };
  const std::vector<std::string> codecs{
      "",
      R"(wan = { kind = "fp16" })",
      R"(wan = { kind = "bf16" }, lan = { kind = "fp16" })",
      R"(wan = { kind = "int8", rounding = "nearest", error_feedback = true })",
      R"(wan = { kind = "int8", rounding = "stochastic" }, lan = { kind = "int8" })",
      R"(wan = { kind = "top_k", density = 0.013, error_feedback = true })",
  };
  std::string text = R"(topology = "topology.toml"
payload = "phantom"
[model]
kind = "mlp"
[data]
source = "generated"
train_samples = 600
test_samples = 10
height = 28
width = 28
classes = 10
[train]
batch_per_rank = 8
optimizer = { kind = "sgd", lr = 0.1 }
stop = { steps = 3 }
bucket = "150 kB"
)";
  variants = 0;
  for (const auto& strategy : strategies) {
    for (size_t c = 0; c < codecs.size(); ++c) {
      if (c + 1 == codecs.size() && !strategy.takes_top_k) continue;
      text += fmt::format("[[variant]]\nname = \"{}\"\nstrategy = {{ {} }}\ncodec = {{ {} }}\n", ++variants, strategy.text, codecs[c]);
    }
  }
  return text;
}

}  // namespace

TEST_CASE("payload equals its closed form for every strategy, exchange and codec, on every kind of topology") {
  const auto& at = cases()[GENERATE(range(size_t{0}, cases().size()))];
  INFO(at.what);
  const Workspace workspace;
  int variants = 0;
  workspace.write("scenario.toml", scenario(variants));
  workspace.write("topology.toml", topology(at));
  const auto done = sim({workspace.scenario(), "--json", "-"});
  INFO(done.err);
  REQUIRE(done.exit_code == 0);
  const auto report = Json::parse(done.out);
  REQUIRE(report.at("variants").size() == static_cast<size_t>(variants));
  for (const auto& variant : report.at("variants")) {
    INFO(variant.at("strategy") << " " << variant.at("codec"));
    int64_t bytes = 0;
    for (const auto& link : variant.at("links")) {
      CHECK(link.at("payload_bytes_per_step") == link.at("closed_form_bytes_per_step"));
      bytes += link.at("bytes").get<int64_t>();
    }
    CHECK((bytes > 0) == (at.sites.size() > 1));
  }
}

}  // namespace xdc::cli
