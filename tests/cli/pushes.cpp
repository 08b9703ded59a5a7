// Parameter servers that wait for nobody, or for the slowest only so far: what of their promises can a report be held to?
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "tests/cli/process.hpp"
#include "tests/cli/report_of.hpp"
#include "tests/cli/workspace.hpp"

namespace xdc::cli {
namespace {

using Catch::Contains;
using Json = nlohmann::json;

// Two ranks beside the server on a fast device, two far away on a slow one.
constexpr const char* kTopology = R"([[datacenter]]
name = "near"
nodes = 1
devices_per_node = 2
device = "v100"
lan = { bandwidth = "10 Gbps", latency = "5 us" }
[[datacenter]]
name = "far"
nodes = 2
devices_per_node = 1
device = "cpu"
lan = { bandwidth = "10 Gbps", latency = "5 us" }
[[link]]
between = ["near", "far"]
bandwidth = "100 Mbps"
latency = "10 ms"
)";

// Each of the 4 ranks has 60 samples; 16 a step make 4 steps an epoch, the last of 12.
constexpr const char* kScenario = R"(topology = "topology.toml"
seed = 3
[model]
kind = "mlp"
[data]
source = "generated"
train_samples = 240
test_samples = 100
[train]
batch_per_rank = 16
optimizer = { kind = "adam", lr = 3e-4 }
stop = { epochs = 3 }
eval_every = 3
bucket = "100 kB"
[[variant]]
name = "servers"
)";

Json run(const Workspace& workspace, const std::string& strategy, std::vector<std::string> options = {}) {
  workspace.write("topology.toml", kTopology);
  workspace.write("scenario.toml", kScenario + fmt::format("strategy = {{ kind = \"parameter_server\", {} }}\n", strategy));
  options.insert(options.begin(), workspace.scenario());
  return report_of(options).at("variants")[0];
}

std::vector<int64_t> applied(const Json& variant, size_t server = 0) { return variant.at("staleness").at("applied").at(server); }

TEST_CASE("every push is applied once by every server, and all are counted by their staleness") {
  const Workspace workspace;
  const auto variant = run(workspace, R"(placement = "sharded", shards = 2, mode = "async")");
  CHECK(variant.at("servers") == 4);
  CHECK(variant.at("steps") == 12);
  CHECK(variant.at("samples") == 3 * 240);
  CHECK(variant.at("faults").at("updates_lost") == 0);
  REQUIRE(variant.at("staleness").at("applied").size() == 4);
  for (size_t server = 0; server < 4; ++server) {
    const auto order = applied(variant, server);
    for (int64_t worker = 0; worker < 4; ++worker) CHECK(std::count(order.begin(), order.end(), worker) == 12);
  }
  const std::vector<int64_t> histogram = variant.at("staleness").at("histogram");
  CHECK(std::accumulate(histogram.begin(), histogram.end(), int64_t{0}) == 4 * 48);
  CHECK(histogram.back() > 0);
  CHECK(variant.at("evaluations").size() == 4);  // after 3, 6, 9 steps' samples, and at the end
  CHECK(variant.at("evaluations")[3].at("step") == 12);
  CHECK(variant.at("accuracy").get<double>() > 0.4);
}

TEST_CASE("without a bound the near ranks are done before the far ones have pushed twice; within a bound of steps they are not") {
  const Workspace workspace;
  const auto places_of_far = [](const std::vector<int64_t>& order) {
    std::vector<size_t> places;
    for (size_t i = 0; i < order.size(); ++i) {
      if (order[i] >= 2) places.push_back(i);
    }
    return places;
  };
  const auto async = places_of_far(applied(run(workspace, R"(placement = "near", mode = "async")")));
  CHECK(async[2] >= 24);  // all 24 pushes of the near ranks come before the far ranks' second ones
  for (const int64_t bound : {0, 1, 3}) {
    const auto variant = run(workspace, fmt::format(R"(placement = "near", mode = "ssp", staleness = {})", bound));
    CHECK(variant.at("samples") == 3 * 240);
    std::map<int64_t, int64_t> clock{{0, 0}, {1, 0}, {2, 0}, {3, 0}};
    int64_t widest = 0;
    for (const int64_t worker : applied(variant)) {
      ++clock[worker];
      int64_t least = 12;
      for (const auto& [who, at] : clock) least = std::min(least, at);
      widest = std::max(widest, clock[worker] - least);
    }
    INFO(bound);
    // Who stands s steps ahead takes one more, and then waits.
    CHECK(widest == bound + 1);
  }
}

TEST_CASE("with a bound of no steps the updates of a step come after all of the step before") {
  const Workspace workspace;
  const auto order = applied(run(workspace, R"(placement = "far", mode = "ssp", staleness = 0)"));
  REQUIRE(order.size() == 48);
  for (size_t step = 0; step < 12; ++step) {
    std::vector<int64_t> who(order.begin() + static_cast<std::ptrdiff_t>(4 * step),
                             order.begin() + static_cast<std::ptrdiff_t>(4 * step + 4));
    std::sort(who.begin(), who.end());
    CHECK(who == std::vector<int64_t>{0, 1, 2, 3});
  }
}

TEST_CASE("an asynchronous run is the same every time, and takes the same time without arithmetic") {
  const Workspace workspace;
  const std::string strategy = R"(placement = "sharded", mode = "async")";
  auto one = run(workspace, strategy), other = run(workspace, strategy);
  auto phantom = run(workspace, strategy, {"--set", "payload=phantom"});
  for (auto* variant : {&one, &other, &phantom}) variant->erase("wall_s");
  CHECK(one == other);
  CHECK(one.at("elapsed_s") == phantom.at("elapsed_s"));
  CHECK(one.at("links") == phantom.at("links"));
  CHECK(one.at("staleness") == phantom.at("staleness"));
}

TEST_CASE("when the time is up everyone ends with the same parameters, and nothing begun after it counts") {
  const Workspace workspace;
  const auto variant = run(workspace, R"(placement = "near", mode = "async")", {"--set", "train.stop={ time = \"300 ms\" }"});
  CHECK(variant.at("parameters_digest").get<std::string>().size() == 32);  // or the run had failed: replicas differ
  const auto order = applied(variant);
  const auto near = std::count(order.begin(), order.end(), 0), far = std::count(order.begin(), order.end(), 2);
  CHECK(far >= 2);
  CHECK(near > 10 * far);
  for (const auto& link : variant.at("links")) CHECK(link.at("payload_bytes").get<int64_t>() > 0);
}

TEST_CASE("what an asynchronous server cannot do is refused with the reason") {
  const Workspace workspace;
  workspace.write("topology.toml", kTopology);
  const auto refused = [&](const std::string& strategy, const std::string& more = "") {
    workspace.write("scenario.toml",
                    kScenario + fmt::format("strategy = {{ kind = \"parameter_server\", placement = \"near\", {} }}\n{}", strategy, more));
    const auto done = sim({workspace.scenario(), "--validate"});
    CHECK(done.exit_code == 2);
    return done.err;
  };
  CHECK_THAT(refused(R"(mode = "asynchronous")"), Contains("\"async\"") && Contains("\"ssp\"") && Contains("\"sync\""));
  CHECK_THAT(refused(R"(mode = "ssp")"), Contains("staleness") && Contains("is required"));
  CHECK_THAT(refused(R"(mode = "ssp", staleness = -1)"), Contains("staleness"));
  CHECK_THAT(refused(R"(mode = "async", staleness = 2)"), Contains("goes with mode = \"ssp\" alone"));
  CHECK_THAT(refused("staleness = 2"), Contains("goes with mode = \"ssp\" alone"));
  CHECK_THAT(refused(R"(mode = "async", aggregator = true)"), Contains("goes with mode = \"sync\" alone"));
  CHECK_THAT(refused(R"(mode = "async")", "commit = \"vote\"\n"), Contains("commit") && Contains("one worker's push"));
}

}  // namespace
}  // namespace xdc::cli
