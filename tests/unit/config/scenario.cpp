#include "core/config/scenario.hpp"

#include <catch2/catch.hpp>
#include <filesystem>

#include "tests/unit/config/text_file.hpp"

namespace xdc {
namespace {

using Catch::Contains;

const std::string kTop = "topology = '../topologies/t.toml'\nseed = 7\n";
const std::string kBody = R"(
[model]
kind = "lenet"
[data]
source = "mnist"
path = "../data/mnist"
partition = { kind = "dirichlet", alpha = 0.5 }
samples = { beijing = 24000, shanghai = 20000 }
[train]
batch_per_rank = { beijing = 24, shanghai = 20 }
optimizer = { kind = "adam", lr = 3e-3 }
stop = { epochs = 2 }
eval_every = 50
target = { metric = "accuracy", at_least = 0.97 }
bucket = "64 KB"
[expect]
accuracy_at_least = 0.97
)";
const std::string kVariants = R"(
[[variant]]
name = "central PS"
strategy = { kind = "parameter_server", placement = "beijing" }
[[variant]]
name = "ring"
strategy = { kind = "ring_allreduce" }
train = { bucket = "1 MB" }
expect = { loss_at_most = 1 }
commit = "vote"
)";

struct Read {
  Read(const std::string& text, const std::vector<std::string>& sets = {}) : file("scenario.toml", text) {
    scenario = read_scenario(file.path(), sets, diagnostics);
  }
  TextFile file;
  Diagnostics diagnostics;
  std::optional<Scenario> scenario;
};

Scenario good(const std::string& text, const std::vector<std::string>& sets = {}) {
  Read read(text, sets);
  INFO(read.diagnostics.text());
  REQUIRE(read.diagnostics.ok());
  REQUIRE(read.scenario);
  return std::move(*read.scenario);
}

std::string bad(const std::string& text, const std::vector<std::string>& sets = {}) {
  Read read(text, sets);
  CHECK_FALSE(read.diagnostics.ok());
  return read.diagnostics.text();
}

std::string whole() { return kTop + kBody + kVariants; }

std::string text_at(const ScenarioVariant& variant, std::string_view table, const std::string& key) {
  return *variant.find(table)->table()->at(key).string();
}

TEST_CASE("a scenario is read with what its variants inherit and override") {
  const auto s = good(whole());
  CHECK(s.seed == 7);
  CHECK_FALSE(s.phantom);
  CHECK_FALSE(s.native_numerics);
  CHECK(s.data.source == "mnist");
  CHECK(s.data.alpha == 0.5);
  CHECK(s.data.samples->by_name.at("beijing").value == 24000);
  REQUIRE(s.variants.size() == 2);
  const auto& ps = s.variants[0];
  CHECK(ps.name == "central PS");
  CHECK(ps.train.bucket_bytes == 64000);
  CHECK(ps.train.stop.epochs == 2);
  CHECK(ps.train.target->value == 0.97);
  CHECK(ps.train.batch_per_rank.by_name.at("shanghai").value == 20);
  CHECK(ps.expect.accuracy_at_least == 0.97);
  CHECK_FALSE(ps.commit_by_vote);
  CHECK(text_at(ps, "strategy", "placement") == "beijing");
  CHECK(ps.path_of("strategy") == "variant[0].strategy");
  CHECK(ps.path_of("train") == "train");
  const auto& ring = s.variants[1];
  CHECK(ring.train.bucket_bytes == 1'000'000);
  CHECK(ring.train.eval_every == 50);
  CHECK(ring.expect.accuracy_at_least == 0.97);
  CHECK(ring.expect.loss_at_most == 1);
  CHECK(ring.commit_by_vote);
  CHECK(ring.path_of("train") == "variant[1].train");
}

TEST_CASE("paths are relative to the file, and to the working directory when --set writes them") {
  const TextFile file("scenario.toml", whole());
  const auto folder = std::filesystem::path(file.path()).parent_path();
  Diagnostics diagnostics;
  CHECK(read_scenario(file.path(), {}, diagnostics)->topology_path == (folder.parent_path() / "topologies/t.toml").string());
  CHECK(read_scenario(file.path(), {"topology=here.toml"}, diagnostics)->topology_path == "here.toml");
  CHECK(read_scenario(file.path(), {"data.path=/abs"}, diagnostics)->data.path == "/abs");
}

TEST_CASE("one strategy without variants is one variant of its name") {
  const auto s = good(kTop + kBody + "[strategy]\nkind = 'ring_allreduce'\n");
  REQUIRE(s.variants.size() == 1);
  CHECK(s.variants[0].name == "ring_allreduce");
  CHECK(s.variants[0].index == -1);
}

TEST_CASE("a scenario with nothing to run is refused") {
  CHECK_THAT(bad(kTop + kBody), Contains("there is nothing to run"));
  CHECK_THAT(bad(kTop + "variant = []\n" + kBody), Contains("between 1 and"));
  CHECK_THAT(bad(""), Contains("topology: is required") && Contains("data: is required") && Contains("nothing to run"));
}

TEST_CASE("two variants of one name are refused") {
  CHECK_THAT(bad(whole() + "[[variant]]\nname = 'ring'\nstrategy = { kind = 'x' }\n"),
             Contains("variant[2].name: \"ring\" is already the name of variant[1]"));
}

TEST_CASE("unknown keys are errors everywhere, with the nearest name") {
  CHECK_THAT(bad("sede = 3\n" + whole()), Contains("scenario.toml:1:1: sede: unknown key, did you mean \"seed\"?"));
  CHECK_THAT(bad(whole() + "[[variant]]\nname = 'x'\nstrategi = { kind = 'x' }\n"),
             Contains("variant[2].strategi: unknown key, did you mean \"strategy\"?"));
  CHECK_THAT(bad(whole(), {"train.bukcet=64 KB"}), Contains("train.bukcet: unknown key, did you mean \"bucket\"?"));
  CHECK_THAT(bad(whole(), {"data.height=28"}), Contains("data.height: unknown key"));
  CHECK_THAT(bad(whole(), {"data.partition.aplha=1"}), Contains("data.partition.aplha: unknown key"));
  CHECK_THAT(bad(whole(), {"expect.acuracy=1"}), Contains("unknown key"));
  CHECK_THAT(bad(whole(), {"train.stop.step=1"}), Contains("did you mean \"steps\""));
}

TEST_CASE("an error of the base is reported once, not once a variant") {
  const auto text = bad(kTop + kBody + "[codec]\n" + kVariants, {"train.eval_every=0"});
  CHECK(text.find("eval_every") != std::string::npos);
  CHECK(std::count(text.begin(), text.end(), '\n') == 1);
}

TEST_CASE("option --set overrides the base and every variant that says otherwise") {
  const auto s =
      good(whole(), {"train.bucket=2 MB", "seed=9", "strategy.kind=hierarchical_allreduce", "payload=phantom", "numerics=native"});
  CHECK(s.seed == 9);
  CHECK(s.phantom);
  CHECK(s.native_numerics);
  for (const auto& variant : s.variants) {
    CHECK(variant.train.bucket_bytes == 2'000'000);
    CHECK(text_at(variant, "strategy", "kind") == "hierarchical_allreduce");
  }
}

TEST_CASE("option --set reaches one variant by name or by place") {
  const auto s = good(whole(), {"variant.central PS.train.bucket=3 MB", "variant[1].train.stop={ steps = 5 }"});
  CHECK(s.variants[0].train.bucket_bytes == 3'000'000);
  CHECK(s.variants[0].train.stop.epochs == 2);
  CHECK(s.variants[1].train.bucket_bytes == 1'000'000);
}

TEST_CASE("option --set of a variant that is not there offers the nearest") {
  CHECK_THAT(bad(whole(), {"variant.rign.train.bucket=1 MB"}), Contains("no variant is called \"rign\", did you mean \"ring\"?"));
  CHECK_THAT(bad(whole(), {"variant[2].train.bucket=1 MB"}), Contains("there is no variant[2]"));
  CHECK_THAT(bad(whole(), {"variant=1"}), Contains("a key of the variant is wanted"));
  CHECK_THAT(bad(kTop + kBody + "[strategy]\nkind='x'\n", {"variant[0].train.bucket=1 MB"}), Contains("has no [[variant]]"));
}

TEST_CASE("a run ends in exactly one way") {
  CHECK_THAT(bad(whole(), {"train.stop.steps=5"}), Contains("exactly one of steps, samples, epochs, time is wanted, not steps and epochs"));
  CHECK_THAT(bad(whole(), {"train.stop={}"}), Contains("one of steps, samples, epochs, time is required"));
  CHECK_THAT(bad(whole(), {"train.stop={ time = \"0 s\" }"}), Contains("must be more than 0"));
  CHECK_THAT(bad(whole(), {"train.stop=5"}), Contains("a table is wanted"));
  CHECK(good(whole(), {"train.stop={ time = \"2 min\" }"}).variants[0].train.stop.time == seconds(120));
}

TEST_CASE("what is required and missing is said") {
  const auto text = bad(kTop + "[data]\nsource = 'generated'\n[train]\n[[variant]]\nname = 'x'\n");
  for (const auto* piece :
       {"variant[0].strategy: is required", "variant[0].model: is required", "train.batch_per_rank: is required",
        "train.optimizer: is required", "train.stop: is required", "data.train_samples: is required", "data.test_samples: is required"}) {
    CHECK_THAT(text, Contains(piece));
  }
}

TEST_CASE("wrong values are refused with what is allowed") {
  CHECK_THAT(bad(whole(), {"payload=phantm"}), Contains("did you mean \"phantom\""));
  CHECK_THAT(bad(whole(), {"seed=-1"}), Contains("seed: -1 is out of range"));
  CHECK_THAT(bad(whole(), {"train.bucket=64"}), Contains("has no unit"));
  CHECK_THAT(bad(whole(), {"train.bucket=64 B"}), Contains("at least 1 KiB"));
  CHECK_THAT(bad(whole(), {"train.batch_per_rank.beijing=0"}), Contains("train.batch_per_rank.beijing: 0 is out of range"));
  CHECK_THAT(bad(whole(), {"train.batch_per_rank={}"}), Contains("names no datacenter"));
  CHECK_THAT(bad(whole(), {"data.partition.alpha=-1"}), Contains("out of range"));
  CHECK_THAT(bad(whole(), {"data.partition={ kind = \"dirichlet\" }"}), Contains("alpha: is required"));
  CHECK_THAT(bad(whole(), {"train.target={ metric = \"accuracy\", at_most = 1 }"}),
             Contains("at_least: is required") && Contains("at_most: unknown key"));
  CHECK_THAT(bad(whole(), {"commit=votes"}), Contains("did you mean \"vote\""));
  CHECK_THAT(bad(whole(), {"expect.accuracy_at_least=97"}), Contains("between 0 and 1"));
  CHECK_THAT(bad(whole(), {"model=lenet"}), Contains("model: a table is wanted, not the text \"lenet\""));
  CHECK_THAT(bad("variant = 5\n" + kTop + kBody), Contains("variant: an array is wanted"));
  CHECK_THAT(bad("variant = [5]\n" + kTop + kBody), Contains("variant[0]: a table is wanted"));
}

TEST_CASE("policies and faults are read and their shape is checked") {
  const auto s = good("policy = { kind = 'stall', max_stall = '120 s' }\n" + whole() +
                      "[[fault]]\nat = '40 s'\nfor = '40 s'\nlink = ['beijing', 'shanghai']\nkind = 'down'\n");
  CHECK(s.variants[1].policy.kind == "stall");
  CHECK(s.variants[1].policy.max_stall == seconds(120));
  REQUIRE(s.faults.size() == 1);
  CHECK(s.faults[0].at == seconds(40));
  CHECK(s.faults[0].lasts == seconds(40));
  CHECK(good("policy = 'stop'\n" + whole()).variants[0].policy.kind == "stop");
  CHECK_THAT(bad("policy = 'stal'\n" + whole()), Contains("policy: \"stal\" is not known here, did you mean \"stall\"?"));
  CHECK_THAT(bad("policy = 'stall'\n" + whole()), Contains("needs its bound"));
  CHECK_THAT(bad("policy = 5\n" + whole()), Contains("policy: a table is wanted"));
  CHECK_THAT(bad(whole() + "[[fault]]\nkind = 'down'\n"),
             Contains("fault[0].at: is required") && Contains("either a link or a datacenter"));
  CHECK_THAT(bad(whole() + "[[fault]]\nkind = 'down'\nat = '1 s'\nlink = ['a']\n"), Contains("two datacenters are wanted"));
}

TEST_CASE("the digest is of what is run, not of how it is written") {
  const auto digest = scenario_digest(good(whole()), "topology");
  CHECK(scenario_digest(good("# comment\n" + whole()), "topology") == digest);
  CHECK(scenario_digest(good(whole(), {"data.path=/elsewhere"}), "topology") == digest);
  CHECK(scenario_digest(good(whole(), {"seed=7"}), "topology") == digest);
  CHECK(scenario_digest(good(whole()), "other topology") != digest);
  CHECK(scenario_digest(good(whole(), {"seed=8"}), "topology") != digest);
  CHECK(scenario_digest(good(whole(), {"variant[1].train.bucket=2 MB"}), "topology") != digest);
}

}  // namespace
}  // namespace xdc
