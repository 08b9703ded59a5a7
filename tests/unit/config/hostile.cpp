// Files that nobody would write: the parser must answer every one of them, and never fall over.
#include <catch2/catch.hpp>

#include "core/base/rng.hpp"
#include "core/config/scenario.hpp"
#include "core/config/topology.hpp"
#include "tests/unit/config/text_file.hpp"

namespace xdc {
namespace {

const std::string kScenario = R"(topology = "t.toml"
seed = 7
policy = { kind = "stall", max_stall = "120 s" }
[model]
kind = "lenet"
[data]
source = "generated"
train_samples = 100
test_samples = 10
partition = { kind = "dirichlet", alpha = 0.5 }
samples = { a = 60, b = 40 }
[train]
batch_per_rank = { a = 24, b = 20 }
optimizer = { kind = "adam", lr = 3e-3 }
stop = { epochs = 2 }
target = { metric = "accuracy", at_least = 0.97 }
bucket = "64 KB"
[[variant]]
name = "one"
strategy = { kind = "ring_allreduce" }
train.eval_every = 3
[[variant]]
name = "two"
strategy.kind = "parameter_server"
[[fault]]
at = "40 s"
link = ["a", "b"]
kind = "down"
)";

const std::string kTopology = R"([[datacenter]]
name = "a"
nodes = 2
lan = { bandwidth = "10 Gbps", latency = "5 us" }
uplink = { bandwidth = "1 Gbps" }
[[datacenter]]
name = "b"
lan = { bandwidth = "10 Gbps", latency = "5 us" }
[[link]]
between = ["a", "b"]
bandwidth = "1 Gbps"
latency = "1 ms"
[device.x]
flops = "1 TFLOPS"
memory_bandwidth = "1 GB/s"
memory = "1 GB"
)";

// A few edits of bytes, lines and tokens that mean something to the parser.
std::string spoiled(std::string text, RandomStream& random) {
  static const std::vector<std::string> tokens{"[",
                                               "]",
                                               "[[",
                                               "]]",
                                               "{",
                                               "}",
                                               "=",
                                               ",",
                                               ".",
                                               "\"",
                                               "'",
                                               "'''",
                                               "\"\"\"",
                                               "#",
                                               "\n",
                                               "\r",
                                               "\\",
                                               "nan",
                                               "-inf",
                                               "1e999",
                                               "9223372036854775808",
                                               "0x",
                                               "1979-05-27",
                                               "true",
                                               "variant",
                                               "[[variant]]\n",
                                               "\xEF\xBB\xBF",
                                               "\xFF",
                                               std::string(1, '\0'),
                                               "-",
                                               "_",
                                               "''",
                                               "\"\"",
                                               "= {}",
                                               "= []",
                                               "= 0",
                                               "= \"\""};
  const auto edits = 1 + random.below(6);
  for (uint64_t i = 0; i < edits && !text.empty(); ++i) {
    const auto at = static_cast<size_t>(random.below(text.size()));
    const auto length = static_cast<size_t>(random.below(20));
    switch (random.below(5)) {
      case 0:
        text.erase(at, length);
        break;
      case 1:
        text.insert(at, tokens[random.below(tokens.size())]);
        break;
      case 2:
        text[at] = static_cast<char>(random.below(256));
        break;
      case 3:
        text.insert(at, text.substr(static_cast<size_t>(random.below(text.size())), length * 3));
        break;
      default:
        text.replace(at, length, tokens[random.below(tokens.size())]);
        break;
    }
  }
  return text;
}

TEST_CASE("a spoiled scenario is read or refused, and a refusal says something") {
  RandomStream random(11, "hostile scenarios");
  int refused = 0;
  for (int i = 0; i < 4000; ++i) {
    const auto text = spoiled(kScenario, random);
    const TextFile file("hostile.toml", text);
    Diagnostics diagnostics;
    const auto scenario = read_scenario(file.path(), {}, diagnostics);
    INFO(text);
    if (!scenario) REQUIRE_FALSE(diagnostics.ok());
    if (scenario) REQUIRE(scenario_digest(*scenario, "").size() == 32);
    if (!diagnostics.ok()) {
      ++refused;
      REQUIRE_FALSE(diagnostics.text().empty());
    }
  }
  CHECK(refused > 2000);
  CHECK(refused < 4000);
}

TEST_CASE("a spoiled topology is read or refused, and one that is read has all its routes") {
  RandomStream random(12, "hostile topologies");
  int refused = 0;
  for (int i = 0; i < 4000; ++i) {
    const auto text = spoiled(kTopology, random);
    const TextFile file("hostile.toml", text);
    Diagnostics diagnostics;
    const auto topology = read_topology(file.path(), diagnostics);
    INFO(text);
    REQUIRE(topology.ok() == diagnostics.ok());
    if (!topology.ok()) {
      ++refused;
      continue;
    }
    const auto count = static_cast<int>(topology.value().datacenters.size());
    REQUIRE(count > 0);
    for (int d = 1; d < count; ++d) REQUIRE(find_route(topology.value(), 0, d));
  }
  CHECK(refused > 2000);
  CHECK(refused < 4000);
}

TEST_CASE("a spoiled option is read or refused") {
  RandomStream random(13, "hostile options");
  const TextFile file("hostile.toml", kScenario);
  for (int i = 0; i < 4000; ++i) {
    auto option = std::vector<std::string>{"variant.one.train.stop={ steps = 5 }", "variant[1].strategy.kind=x", "fault[0].at=3 s",
                                           "train.\"batch_per_rank\".a=7", "data.samples=[1, 2]"}[random.below(5)];
    option = spoiled(option, random);
    Diagnostics diagnostics;
    const auto scenario = read_scenario(file.path(), {option}, diagnostics);
    INFO(option);
    REQUIRE(scenario);
    for (const auto& error : diagnostics.errors()) REQUIRE_FALSE(error.message.empty());
  }
}

}  // namespace
}  // namespace xdc
