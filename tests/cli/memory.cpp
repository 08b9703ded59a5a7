// Does a model that cannot fit a device say so before it runs, and does what the message advises help?
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/cli/process.hpp"
#include "tests/cli/report_of.hpp"
#include "tests/cli/workspace.hpp"

namespace xdc::cli {
namespace {

using Catch::Contains;

// ResNet-50 with momentum on devices of so much memory; 25.6 M parameters are 102 MB, an image keeps 84 MB and 2 * 3.2 MB of gradients.
void give_memory(const Workspace& workspace, const std::string& memory) {
  workspace.write("topology.toml", Workspace::topology_text() +
                                       "\n[device.small]\nflops = \"1 TFLOPS\"\nmemory_bandwidth = \"100 GB/s\"\nmemory = \"" + memory +
                                       "\"\n");
  workspace.replace_in("topology.toml", "name = \"shanghai\"\n", "name = \"shanghai\"\ndevice = \"small\"\n");
  workspace.replace_in("scenario.toml", "kind = \"linear\"", "cost_profile = \"resnet50\"");
  workspace.replace_in("scenario.toml", "seed = 3", "seed = 3\npayload = \"phantom\"");
  workspace.replace_in("scenario.toml", "lr = 0.1", "lr = 0.1, momentum = 0.9");
}

Finished validated(const Workspace& workspace, const std::vector<std::string>& sets = {}) {
  std::vector<std::string> arguments{workspace.scenario(), "--validate"};
  for (const auto& set : sets) arguments.insert(arguments.end(), {"--set", set});
  return sim(arguments);
}

std::string refused(const Workspace& workspace, const std::vector<std::string>& sets = {}) {
  const auto done = validated(workspace, sets);
  INFO(done.err);
  CHECK(done.exit_code == 2);
  return done.err;
}

TEST_CASE("a model that does not fit the device is refused: which device, where, what is needed and what would help") {
  const Workspace workspace;
  give_memory(workspace, "1 GB");
  const auto said = refused(workspace);
  CHECK_THAT(said, Contains("scenario.toml:5:1: model: resnet50 does not fit a rank of datacenter shanghai (variants ring, tree)") &&
                       Contains("the device small has 1 GB, but at least 2.") &&
                       // 102 MB, three times, with as much momentum
                       Contains("613 MB of parameters and optimizer state, 102 MB of gradients, 1.") &&
                       Contains("of activations (3 sets of state, a batch of 16)") && Contains("[device.NAME]"));
  // Workers of a parameter server have no optimizer state: another figure.
  CHECK_THAT(said, Contains("(variant ps)") && Contains("307 MB of parameters and optimizer state"));
  // The device of Beijing is a processor with 16 GB.
  CHECK_THAT(said, !Contains("datacenter beijing"));
}

TEST_CASE("the batch that is said to fit does, and the next one does not") {
  const Workspace workspace;
  give_memory(workspace, "1 GB");
  const auto said = refused(workspace, {"variant.ps.strategy={ kind = \"ring_allreduce\" }"});
  const std::string before = "batch_per_rank = ";
  const auto at = said.find(before);
  REQUIRE(at != std::string::npos);
  const int batch = std::stoi(said.substr(at + before.size()));
  CHECK(batch == 3);
  const auto with = [&](int b) {
    return validated(workspace, {"variant.ps.strategy={ kind = \"ring_allreduce\" }",
                                 "train.batch_per_rank={ beijing = 16, shanghai = " + std::to_string(b) + " }"});
  };
  CHECK(with(batch).exit_code == 0);
  CHECK(with(batch + 1).exit_code == 2);
}

TEST_CASE("a vote is offered where a set less would do, and does") {
  const Workspace workspace;
  give_memory(workspace, "700 MB");
  const std::vector<std::string> one{"train.batch_per_rank=1", "variant.ps.strategy={ kind = \"ring_allreduce\" }"};
  CHECK_THAT(refused(workspace, one), Contains("commit = \"vote\" would fit, with a set less"));
  CHECK(validated(workspace, {one[0], one[1], "commit=vote"}).exit_code == 0);
}

TEST_CASE("what encodings remember is held too, in every set") {
  const Workspace workspace;
  give_memory(workspace, "1 GB");
  CHECK_THAT(refused(workspace, {"variant.tree.codec={ wan = { kind = \"int8\" } }"}), Contains("of residuals of encodings"));
}

TEST_CASE("a model that just fits runs, and the simulated device agrees") {
  const Workspace workspace;
  give_memory(workspace, "1 GB");
  const auto report = report_of({workspace.scenario(), "--set", "train.batch_per_rank=3", "--set", "train.stop={ steps = 2 }"});
  CHECK(report.at("variants").size() == 3);
}

TEST_CASE("a small model in a phantom run is held against its own figures") {
  const Workspace workspace;
  give_memory(workspace, "100 kB");
  workspace.replace_in("scenario.toml", "cost_profile = \"resnet50\"", "kind = \"mlp\"");
  CHECK_THAT(refused(workspace), Contains("mlp does not fit a rank of datacenter shanghai"));
}

TEST_CASE("servers are held against their own device, which a datacenter may name") {
  const Workspace workspace;
  give_memory(workspace, "10 GB");
  workspace.replace_in("topology.toml", "nodes = 2\n", "nodes = 2\nserver_device = \"attic\"\n");
  CHECK_THAT(refused(workspace), Contains("datacenter[0].server_device: no device is called attic"));
  const auto describe = [&](const std::string& bandwidth, const std::string& memory) {
    workspace.write("topology.toml", workspace.read("topology.toml") + "\n[device.attic]\nflops = \"1 TFLOPS\"\nmemory_bandwidth = \"" +
                                         bandwidth + "\"\nmemory = \"" + memory + "\"\n");
  };
  describe("1 GB/s", "650 MB");
  const auto said = refused(workspace);
  // Three sets of parameters and momentum; three pushes of the largest bucket of 25 MB.
  CHECK_THAT(said,
             Contains("strategy: resnet50 does not fit a server of datacenter beijing (variant ps): the server_device attic has 650 MB") &&
                 Contains("613 MB of parameters and optimizer state, ") && Contains("of exchange buffers (3 sets of state)") &&
                 Contains("more shards"));
  CHECK_THAT(said, !Contains("gradients"));
  CHECK(validated(workspace, {"variant.ps.strategy.shards=2"}).exit_code == 0);
}

TEST_CASE("a server's update takes the time of the device that it runs on") {
  const auto step_time = [](const std::string& bandwidth) {
    const Workspace workspace;
    give_memory(workspace, "10 GB");
    workspace.replace_in("topology.toml", "nodes = 2\n", "nodes = 2\nserver_device = \"host\"\n");
    workspace.write("topology.toml", workspace.read("topology.toml") + "\n[device.host]\nflops = \"100 TFLOPS\"\nmemory_bandwidth = \"" +
                                         bandwidth + "\"\nmemory = \"10 GB\"\n");
    const auto report = report_of({workspace.scenario(), "--variant", "ps", "--set", "train.bucket=200 MB"});
    return report.at("variants")[0].at("step_time_s").at("p50").get<double>();
  };
  // Momentum reads three values of every parameter and writes two, and the sum of three pushes reads and writes its own.
  const double slow = step_time("1 GB/s"), fast = step_time("100 GB/s");
  CHECK(slow - fast > 0.99 * 4 * 5 * 25'557'032 / 1e9);
  CHECK(slow - fast < 4.0 * 11 * 25'557'032 / 1e9);
}

}  // namespace
}  // namespace xdc::cli
