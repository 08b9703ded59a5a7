// Does a run go on with other ranks than it was saved by, with every sample of the epoch still exactly once? Which samples are taken is
// counted in tests/unit/data/sampler.cpp; here ranks, servers and launcher agree on it.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/cli/checkpoint_runs.hpp"

namespace xdc::cli {
namespace {

using Catch::Contains;
using Arguments = std::vector<std::string>;

// Datacenters "office" and "branch" again.
std::string write_topology(const Folder& folder, const std::string& name, int office, int branch) {
  std::ofstream file(folder.file(name));
  for (const auto& [datacenter, nodes] : {std::pair{"office", office}, {"branch", branch}}) {
    file << fmt::format("[[datacenter]]\nname = \"{}\"\nnodes = {}\nlan = {{ bandwidth = \"1 Gbps\", latency = \"50 us\" }}\n", datacenter,
                        nodes);
  }
  file << "[[link]]\nbetween = [\"office\", \"branch\"]\nbandwidth = \"100 Mbps\"\nlatency = \"10 ms\"\n";
  return folder.file(name);
}

struct Site {
  Site() { write_scenario(folder); }

  // Of 900 samples in an epoch, three ranks take 48 in a step; branch is done after 19 steps, office too.
  Ended go_on(const std::string& variant, const std::string& topology, const std::string& stop, const Arguments& more = {}) {
    Arguments arguments{"--variant",    variant,
                        "--set",        "data.samples={ office = 600, branch = 300 }",
                        "--set",        "train.stop=" + stop,
                        "--checkpoint", folder.file("saved"),
                        "--json",       folder.file("run.json")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    if (!topology.empty()) arguments.insert(arguments.end(), {"--set", fmt::format("topology=\"{}\"", topology)});
    return run(folder, arguments);
  }
  nlohmann::json report() const { return report_in(folder.file("run.json")).at("variants")[0]; }

  Folder folder;
};

}  // namespace

TEST_CASE("a run goes on with more or fewer ranks, and two epochs are still two times every sample", "[cli]") {
  for (const std::string variant : {"tree int8", "momentum", "servers"}) {
    for (const auto& [office, branch] : {std::pair{4, 2}, {1, 1}}) {
      Site site;
      const auto other = write_topology(site.folder, "other.toml", office, branch);
      const auto begun = site.go_on(variant, "", "{ steps = 7 }");
      INFO(variant << ": " << begun.err);
      REQUIRE(begun.code == 0);
      const int64_t before = site.report().at("samples");
      const auto rest = site.go_on(variant, other, "{ epochs = 2 }", {"--resume"});
      INFO(rest.err);
      REQUIRE(rest.code == 0);
      CHECK(site.report().at("resumed_at") == 7);
      CHECK(before + site.report().at("samples").get<int64_t>() == 1800);
      CHECK_THAT(rest.err, Contains("samples of its epoch are dealt anew"));
      CHECK((rest.err.find("is dropped") != std::string::npos) == (variant != "momentum"));
    }
  }
}

TEST_CASE("what went on with other ranks is resumed in its turn with the same bits, within that epoch and behind it", "[cli]") {
  for (const int64_t again : {12, 22}) {
    std::string digest;
    for (const bool interrupted : {false, true}) {
      Site site;
      const auto other = write_topology(site.folder, "other.toml", 3, 2);
      REQUIRE(site.go_on("tree int8", "", "{ steps = 7 }").code == 0);
      if (interrupted) REQUIRE(site.go_on("tree int8", other, fmt::format("{{ steps = {} }}", again), {"--resume"}).code == 0);
      const auto rest = site.go_on("tree int8", other, "{ steps = 30 }", {"--resume"});
      INFO(rest.err);
      REQUIRE(rest.code == 0);
      CHECK(site.report().at("resumed_at") == (interrupted ? again : 7));
      const std::string reached = site.report().at("parameters_digest");
      if (interrupted) CHECK(reached == digest);
      digest = reached;
    }
  }
}

TEST_CASE("what other ranks cannot go on from is refused with what is possible", "[cli]") {
  Site site;
  const auto other = write_topology(site.folder, "other.toml", 2, 2);
  REQUIRE(site.go_on("local", "", "{ steps = 8 }").code == 0);
  const auto local = site.go_on("local", other, "{ steps = 12 }", {"--resume"});
  CHECK(local.code != 0);
  CHECK_THAT(local.err, Contains("each rank of local_sgd has optimizer state of its own") && Contains("possible are"));
  // Without such state they do.
  const std::string plain = "train.optimizer={ kind = \"sgd\", lr = 0.05 }";
  Site stateless;
  REQUIRE(stateless.go_on("local", "", "{ steps = 8 }", {"--set", plain}).code == 0);
  const auto gone_on =
      stateless.go_on("local", write_topology(stateless.folder, "other.toml", 2, 2), "{ steps = 12 }", {"--set", plain, "--resume"});
  INFO(gone_on.err);
  CHECK(gone_on.code == 0);

  REQUIRE(site.go_on("momentum", "", "{ steps = 8 }").code == 0);
  const auto bucket = site.go_on("momentum", other, "{ steps = 12 }", {"--resume", "--set", "train.bucket=\"20 KB\""});
  CHECK(bucket.code != 0);
  CHECK_THAT(bucket.err, Contains("train.bucket"));
  // Samples do not move to another datacenter.
  const auto moved = site.go_on("momentum", other, "{ steps = 12 }", {"--resume", "--set", "data.samples={ office = 500, branch = 400 }"});
  CHECK(moved.code == 2);
  CHECK_THAT(moved.err, Contains("600 in office") && Contains("data.samples says how many"));
}

}  // namespace xdc::cli
