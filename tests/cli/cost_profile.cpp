// A small model at a big one's pace: whose accuracy, whose time, whose bytes; and what is said of a profile that is none.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/cli/process.hpp"
#include "tests/cli/report_of.hpp"
#include "tests/cli/workspace.hpp"

namespace xdc::cli {
namespace {

using Catch::Contains;
using nlohmann::json;

// 256,000 parameters; 0.8 G operations a sample, forward and backward together, which a device of 1 TFLOPS does in 0.8 ms.
constexpr const char* kBig = R"(name = "big"
description = "made up"
source = "this test"
sample = "text line"

[[layer]]
name = "stem"
parameters = 25_600
forward_flops = 100_000_000
backward_flops = 300_000_000
forward_values = 1
kept_values = 1

[[layer]]
name = "head"
parameters = 230_400
forward_flops = 200_000_000
backward_flops = 200_000_000
forward_values = 1
kept_values = 1
)";
constexpr int64_t kParameters = 256'000;
constexpr double kCompute = 16 * 0.8e9 / 1e12;  // a batch of 16

// Times by hand: plain lines, devices that never wait for memory.
void prepare(const Workspace& workspace) {
  workspace.write("big.toml", kBig);
  workspace.write("topology.toml", Workspace::topology_text() +
                                       "\n[network]\nmodel = \"plain\"\n\n[device.round]\nflops = \"1 TFLOPS\"\nmemory_bandwidth = \"1000 "
                                       "TB/s\"\nmemory = \"10 GB\"\nsource = \"made up\"\n");
  workspace.replace_in("topology.toml", "nodes = 2\n", "nodes = 2\ndevice = \"round\"\n");
  workspace.replace_in("topology.toml", "name = \"shanghai\"\n", "name = \"shanghai\"\ndevice = \"round\"\n");
}

void name_profile(const Workspace& workspace, const std::string& profile) {
  workspace.replace_in("scenario.toml", "kind = \"linear\"", "kind = \"linear\"\ncost_profile = \"" + profile + "\"");
}

json with_profile(const Workspace& workspace, std::vector<std::string> more = {}) {
  name_profile(workspace, "big.toml");
  more.insert(more.begin(), workspace.scenario());
  return report_of(more);
}

json payload_of(const json& variant) {
  json out;
  for (const auto& link : variant.at("links")) out.push_back({link.at("payload_bytes_per_step"), link.at("closed_form_bytes_per_step")});
  return out;
}

TEST_CASE("a cost profile sets bytes and time by the profile's figures") {
  const Workspace workspace;
  prepare(workspace);
  const auto report = with_profile(workspace);
  CHECK(report.at("model") == "linear");
  CHECK(report.at("cost_profile") == "big");
  CHECK(report.at("cost_profile_charged") == true);
  const auto& variants = report.at("variants");
  for (const auto& v : variants) CHECK(v.at("compute_s").get<double>() == Approx(kCompute).epsilon(1e-3));
  // One worker away from the server: everything once there, once back. Three in a ring, of which one edge each way crosses the line:
  // 2 (N - 1) / N of everything. The tree: all of it in half the bytes.
  CHECK(payload_of(variants[0]) == json{{4 * kParameters, 4 * kParameters}, {4 * kParameters, 4 * kParameters}});
  for (const auto& bytes : payload_of(variants[1])) {
    CHECK(bytes[0] == bytes[1]);
    CHECK(bytes[0].get<double>() == Approx(4.0 * 4 / 3 * kParameters).epsilon(0.01));  // parts are whole blocks of 256
  }
  CHECK(payload_of(variants[2]) == json{{2 * kParameters, 2 * kParameters}, {2 * kParameters, 2 * kParameters}});
  // There and back on a line of 100 Mbps and 10 ms; the server's update, on the processor of a host, is the rest.
  const double crossing = 4.0 * kParameters / 12.5e6 + 0.01;
  CHECK(variants[0].at("step_time_s").at("p50").get<double>() == Approx(kCompute + 2 * crossing).epsilon(5e-3));
  CHECK(variants[0].at("lower_bound_s").at("step").get<double>() == Approx(4.0 * kParameters / 12.5e6));
}

TEST_CASE("a cost profile changes not one bit of what is learnt, whatever its buckets") {
  const Workspace workspace;
  prepare(workspace);
  const auto plain = report_of({workspace.scenario()});
  const auto paced = with_profile(workspace, {"--set", "train.bucket=50 kB"});
  // ps and tree: what a ring adds first depends on where its chunks begin.
  for (const size_t v : {0U, 2U}) {
    const auto &a = plain.at("variants")[v], &b = paced.at("variants")[v];
    INFO(a.at("name"));
    CHECK(a.at("parameters_digest") == b.at("parameters_digest"));
    CHECK(a.at("accuracy") == b.at("accuracy"));
    CHECK(a.at("series").at("loss") == b.at("series").at("loss"));
    CHECK(a.at("elapsed_s").get<double>() < b.at("elapsed_s").get<double>());
  }
}

TEST_CASE("a phantom of a profile takes the time and bytes of the run that trains, and needs neither model nor held-out data") {
  const Workspace workspace;
  prepare(workspace);
  const auto real = with_profile(workspace, {"--set", "train.bucket=50 kB"});
  workspace.replace_in("scenario.toml", "kind = \"linear\"\n", "");
  workspace.replace_in("scenario.toml", "test_samples = 200\n", "");
  const auto phantom = report_of({workspace.scenario(), "--set", "train.bucket=50 kB", "--set", "payload=phantom"});
  CHECK(phantom.at("model").is_null());
  CHECK(phantom.at("cost_profile") == "big");
  for (size_t v = 0; v < 3; ++v) {
    const auto &a = real.at("variants")[v], &b = phantom.at("variants")[v];
    CHECK(a.at("series").at("time_s") == b.at("series").at("time_s"));
    CHECK(a.at("links") == b.at("links"));
    CHECK(b.at("accuracy").is_null());
  }
  const auto table = sim({workspace.scenario(), "--set", "payload=phantom"}).out;
  CHECK_THAT(table, Contains("scenario.toml: time and bytes: big, 3 ranks") && !Contains("accuracy: "));
}

TEST_CASE("the table says whose accuracy and whose time and bytes it shows") {
  const Workspace workspace;
  prepare(workspace);
  name_profile(workspace, "big.toml");
  CHECK_THAT(sim({workspace.scenario()}).out, Contains("accuracy: linear on generated data; time and bytes: big"));
  CHECK_THAT(sim({workspace.scenario(), "--validate"}).out, Contains("256000 parameters of big in 1 bucket"));
  CHECK_THAT(sim({workspace.scenario(), "--set", "variant.ring.model.cost_profile=resnet50", "--set", "train.stop={ steps = 1 }"}).out,
             Contains("several cost profiles"));
}

TEST_CASE("more servers than the small model has blocks still serve the big one") {
  const Workspace workspace;
  prepare(workspace);
  const auto report = with_profile(workspace, {"--variant", "ps", "--set", "variant.ps.strategy.shards=40"});
  CHECK(report.at("variants")[0].at("servers") == 40);
  CHECK(payload_of(report.at("variants")[0])[0] == json{4 * kParameters, 4 * kParameters});
}

TEST_CASE("other figures in a profile's file are another scenario") {
  const Workspace workspace;
  prepare(workspace);
  const auto first = with_profile(workspace, {"--variant", "ps", "--set", "train.stop={ steps = 1 }"});
  workspace.replace_in("big.toml", "backward_flops = 300_000_000", "backward_flops = 300_000_001");
  const auto second = report_of({workspace.scenario(), "--variant", "ps", "--set", "train.stop={ steps = 1 }"});
  CHECK(first.at("scenario_digest") != second.at("scenario_digest"));
}

std::string refused(const Workspace& workspace, const std::vector<std::string>& sets = {}) {
  std::vector<std::string> arguments{workspace.scenario(), "--validate"};
  for (const auto& set : sets) arguments.insert(arguments.end(), {"--set", set});
  const auto done = sim(arguments);
  INFO(done.err);
  CHECK(done.exit_code == 2);
  return done.err;
}

TEST_CASE("a profile that is none is refused where it is named") {
  const Workspace workspace;
  name_profile(workspace, "ppocr_v4_server_rek");
  CHECK_THAT(refused(workspace), Contains("scenario.toml:6:") && Contains("model.cost_profile: no cost profile is called") &&
                                     Contains("did you mean \"ppocr_v4_server_rec\"?"));
  CHECK_THAT(refused(workspace, {"model.cost_profile=nowhere.toml"}), Contains("nowhere.toml cannot be read: No such file or directory"));
  CHECK_THAT(refused(workspace, {"model.cost_profile=5"}), Contains("a text in quotes is wanted"));
  CHECK_THAT(refused(workspace, {"model.cost_profil=\"resnet50\""}), Contains("did you mean"));
}

TEST_CASE("what is wrong inside a profile's file is said with its place there") {
  const Workspace workspace;
  prepare(workspace);
  name_profile(workspace, "big.toml");
  workspace.replace_in("big.toml", "forward_flops = 200_000_000", "forward_flops = -1");
  CHECK_THAT(refused(workspace), Contains("big.toml:17:17:"));
}

TEST_CASE("a run that trains needs to know what, and on what it is held out") {
  const Workspace workspace;
  name_profile(workspace, "resnet50");
  workspace.replace_in("scenario.toml", "kind = \"linear\"\n", "");
  CHECK_THAT(refused(workspace), Contains("model.kind: is required"));
  workspace.replace_in("scenario.toml", "test_samples = 200\n", "");
  CHECK_THAT(refused(workspace), Contains("test_samples: is required"));
  // A phantom needs nothing of the kind, but a kind that is named has to be one.
  CHECK_THAT(refused(workspace, {"payload=phantom", "model.kind=linaer"}), Contains("did you mean"));
}

TEST_CASE("a bucket so small that a big model has no end of them is refused") {
  const Workspace workspace;
  name_profile(workspace, "decoder_13b");
  CHECK_THAT(refused(workspace, {"payload=phantom", "train.bucket=10 kB"}), Contains("into more than 65536 buckets"));
}

}  // namespace
}  // namespace xdc::cli
