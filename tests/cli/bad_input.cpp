// Whatever a user may hand in wrong: exit code 2, and a message that says where and what to do.
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <fstream>

#include "tests/cli/process.hpp"
#include "tests/cli/workspace.hpp"

namespace xdc::cli {
namespace {

using Catch::Contains;

std::string refused(const std::vector<std::string>& arguments) {
  const auto done = sim(arguments);
  INFO(done.err);
  CHECK(done.exit_code == 2);
  CHECK(done.out.empty());
  CHECK_FALSE(done.err.empty());
  return done.err;
}

// The message for a workspace in which one text was replaced by another.
std::string spoiled(std::string_view file, std::string_view from, std::string_view to) {
  const Workspace workspace;
  workspace.replace_in(file, from, to);
  return refused({workspace.scenario()});
}

TEST_CASE("a scenario that cannot be read says why") {
  const Workspace workspace;
  CHECK_THAT(refused({workspace.path("nowhere.toml")}), Contains("nowhere.toml: cannot be read: No such file or directory"));
  CHECK_THAT(refused({workspace.path("")}), Contains("is a directory"));
  CHECK_THAT(refused({workspace.write("empty.toml", "")}), Contains("topology: is required"));
  CHECK_THAT(refused({workspace.write("binary.toml", std::string("\x7F"
                                                                 "ELF\x02\x01\0\0\0\xFF\xFE",
                                                                 11))}),
             Contains("not text"));
  CHECK_THAT(refused({workspace.write("junk.toml", "\x89\xC3\xA9\xF0\x9F((((")}), Contains("junk.toml:1:"));
  CHECK_THAT(refused({workspace.write("json.toml", "{\"topology\": 1}")}), Contains("json.toml:1:"));
  CHECK_THAT(refused({"/dev/zero"}), Contains("not a regular file"));
  // Whoever starts the test may be allowed to read everything; this file fails while it is read.
  CHECK_THAT(refused({"/proc/self/mem"}), Contains("/proc/self/mem: cannot be read"));
}

TEST_CASE("a topology at fault is named together with the scenario that names it") {
  CHECK_THAT(spoiled("topology.toml", "\"10 ms\"", "\"10\""), Contains("topology.toml:13:11: link[0].latency") &&
                                                                  Contains("scenario.toml:1:12: topology:") &&
                                                                  Contains("topology.toml has errors"));
  CHECK_THAT(spoiled("topology.toml", "nodes = 2", "nodes = 2\ndevice = \"a100\""),
             Contains("topology.toml:2:8: datacenter[0].device") && Contains("scenario.toml:1:12: topology:"));
  CHECK_THAT(spoiled("scenario.toml", "lr = 0.1", "lr = nan"), !Contains("has errors"));
}

TEST_CASE("a model that does not fit the data is refused") {
  CHECK_THAT(spoiled("scenario.toml", "\"linear\"", "\"lenet\""), Contains("model.kind: model lenet: needs images of at least 12 x 12"));
}

TEST_CASE("a huge file is refused at once") {
  const Workspace workspace;
  const auto path = workspace.path("huge.toml");
  { std::ofstream(path) << "a = 1\n"; }
  std::filesystem::resize_file(path, 100'000'000);
  CHECK_THAT(refused({path}), Contains("100000000 bytes"));
}

TEST_CASE("nesting without end is refused, not followed") {
  const Workspace workspace;
  std::string key = "a";
  for (int i = 0; i < 500'000; ++i) key += ".a";
  CHECK_THAT(refused({workspace.write("deep.toml", key + " = 1\n")}), Contains("more than 32 parts"));
  CHECK_THAT(refused({workspace.write("wide.toml", "a = " + std::string(500'000, '['))}), Contains("wide.toml:1:"));
}

TEST_CASE("a topology that is not there is reported where the scenario names it") {
  CHECK_THAT(spoiled("scenario.toml", "\"topology.toml\"", "\"elsewhere.toml\""),
             Contains("scenario.toml:1:12: topology:") && Contains("elsewhere.toml cannot be read: No such file or directory"));
  CHECK_THAT(spoiled("scenario.toml", "\"topology.toml\"", "\".\""), Contains("is a directory"));
}

TEST_CASE("an unknown key offers the nearest name, with its place") {
  CHECK_THAT(spoiled("scenario.toml", "eval_every", "eval_evry"),
             Contains("scenario.toml:20:1: train.eval_evry: unknown key, did you mean \"eval_every\"?"));
  CHECK_THAT(spoiled("topology.toml", "bandwidth = \"100 Mbps\"", "bandwdith = \"100 Mbps\""),
             Contains("topology.toml:12:1: link[0].bandwdith: unknown key, did you mean \"bandwidth\"?") &&
                 Contains("link[0].bandwidth: is required"));
  CHECK_THAT(spoiled("scenario.toml", "placement = ", "placment = "), Contains("placment: unknown key, did you mean \"placement\"?"));
  CHECK_THAT(spoiled("scenario.toml", "lr = 0.1", "lr = 0.1, momentun = 0.9"), Contains("did you mean \"momentum\"?"));
}

TEST_CASE("a unit that is none offers the one that was meant") {
  CHECK_THAT(spoiled("topology.toml", "100 Mbps", "10 Gbs"),
             Contains("topology.toml:12:13: link[0].bandwidth: \"10 Gbs\" is not a bandwidth") && Contains("did you mean \"Gbps\"?"));
}

TEST_CASE("a bare number where a unit belongs is refused") {
  CHECK_THAT(spoiled("topology.toml", "\"100 Mbps\"", "100"), Contains("link[0].bandwidth: the number 100 has no unit"));
  CHECK_THAT(spoiled("topology.toml", "\"10 ms\"", "0.01"), Contains("link[0].latency: the number 0.01 has no unit"));
  CHECK_THAT(spoiled("topology.toml", "\"10 ms\"", "\"10\""), Contains("the unit is missing"));
}

TEST_CASE("values that are negative, zero, no number or huge are refused") {
  CHECK_THAT(spoiled("topology.toml", "\"100 Mbps\"", "\"-1 Mbps\""), Contains("must not be negative"));
  CHECK_THAT(spoiled("topology.toml", "\"100 Mbps\"", "\"0 Mbps\""), Contains("out of range"));
  CHECK_THAT(spoiled("topology.toml", "\"100 Mbps\"", "\"nan Mbps\""), Contains("finite"));
  CHECK_THAT(spoiled("topology.toml", "\"100 Mbps\"", "\"1e300 Tbps\""), Contains("out of range"));
  CHECK_THAT(spoiled("topology.toml", "\"10 ms\"", "\"1e9 h\""), Contains("longer than"));
  CHECK_THAT(spoiled("topology.toml", "nodes = 2", "nodes = 0"), Contains("nodes: 0 is out of range"));
  CHECK_THAT(spoiled("topology.toml", "nodes = 2", "nodes = 2\ndevices_per_node = 0"), Contains("devices_per_node: 0 is out of range"));
  CHECK_THAT(spoiled("topology.toml", "nodes = 2", "nodes = 9999999999999999"), Contains("out of range"));
  CHECK_THAT(spoiled("scenario.toml", "lr = 0.1", "lr = nan"), Contains("finite number is wanted"));
  CHECK_THAT(spoiled("scenario.toml", "lr = 0.1", "lr = -1"), Contains("out of range"));
  CHECK_THAT(spoiled("scenario.toml", "batch_per_rank = 16", "batch_per_rank = 0"), Contains("out of range"));
  CHECK_THAT(spoiled("scenario.toml", "epochs = 1", "epochs = 0"), Contains("out of range"));
  CHECK_THAT(spoiled("scenario.toml", "seed = 3", "seed = -3"), Contains("seed: -3 is out of range"));
  CHECK_THAT(spoiled("scenario.toml", "train_samples = 960", "train_samples = 99999999999999"), Contains("out of range"));
}

TEST_CASE("a link that names no datacenter offers the nearest") {
  CHECK_THAT(spoiled("topology.toml", "[\"beijing\", \"shanghai\"]", "[\"bejing\", \"shanghai\"]"),
             Contains("there is no datacenter \"bejing\", did you mean \"beijing\"?"));
}

TEST_CASE("two links between the same pair are refused") {
  CHECK_THAT(spoiled("topology.toml", "latency = \"10 ms\"\n",
                     "latency = \"10 ms\"\n[[link]]\nbetween = [\"shanghai\", \"beijing\"]\nbandwidth = \"1 Gbps\"\nlatency = \"1 ms\"\n"),
             Contains("already joined by the link in line 11"));
}

TEST_CASE("datacenters that cannot be reached are named") {
  const Workspace workspace;
  auto text = Workspace::topology_text();
  workspace.write("topology.toml", text.substr(0, text.find("[[link]]")));
  CHECK_THAT(refused({workspace.scenario()}), Contains("\"shanghai\" cannot be reached from \"beijing\""));
}

TEST_CASE("what is not modelled is refused, not ignored") {
  CHECK_THAT(spoiled("topology.toml", "latency = \"10 ms\"\n", "latency = \"10 ms\"\njitter = \"1 ms\"\n"),
             Contains("link[0].jitter: is not modelled yet"));
  CHECK_THAT(spoiled("scenario.toml", "[model]", "[[fault]]\nat = \"1 s\"\nkind = \"down\"\nlink = [\"beijing\", \"shanghai\"]\n[model]"),
             Contains("scenario.toml:4:") && Contains("fault[0]"));
  CHECK_THAT(spoiled("scenario.toml", "seed = 3", "seed = 3\npolicy = { kind = \"stall\", max_stall = \"9 s\" }"), Contains("policy"));
}

TEST_CASE("names that match nothing are refused with what there is") {
  CHECK_THAT(spoiled("scenario.toml", "placement = \"beijing\"", "placement = \"bejing\""), Contains("did you mean \"beijing\"?"));
  CHECK_THAT(spoiled("scenario.toml", "\"ring_allreduce\"", "\"ring_alreduce\""), Contains("did you mean \"ring_allreduce\"?"));
  CHECK_THAT(spoiled("scenario.toml", "\"linear\"", "\"liner\""), Contains("did you mean \"linear\"?"));
  CHECK_THAT(spoiled("scenario.toml", "\"fp16\"", "\"fp61\""), Contains("did you mean \"fp16\"?"));
  CHECK_THAT(spoiled("scenario.toml", "shanghai = 320", "shanghi = 320"), Contains("shanghi") && Contains("did you mean shanghai?"));
  CHECK_THAT(spoiled("topology.toml", "nodes = 2", "nodes = 2\ndevice = \"a100\""), Contains("a100_80g"));
}

TEST_CASE("a codec that the strategy cannot use is refused with the reason") {
  const std::string_view tree = "strategy = { kind = \"hierarchical_allreduce\" }\ncodec = { wan = { kind = \"fp16\" } }";
  CHECK_THAT(
      spoiled("scenario.toml", tree, "strategy = { kind = \"ring_allreduce\" }\ncodec = { wan = { kind = \"top_k\", density = 0.1 } }"),
      Contains("scenario.toml:") && Contains("codec.wan = top_k") && Contains("every hop of a ring"));
  CHECK_THAT(
      spoiled(
          "scenario.toml", tree,
          "strategy = { kind = \"hierarchical_allreduce\", exchange = \"mesh\" }\ncodec = { wan = { kind = \"top_k\", density = 0.1 } }"),
      Contains("codec.wan = top_k") && Contains("allgather"));
  CHECK_THAT(spoiled("scenario.toml", tree,
                     "strategy = { kind = \"hierarchical_allreduce\" }\ncodec = { lan = { kind = \"top_k\", density = 0.1 } }"),
             Contains("codec.lan = top_k"));
  CHECK_THAT(spoiled("scenario.toml", "{ kind = \"fp16\" }", "{ kind = \"none\", error_feedback = true }"),
             Contains("variant[2].codec.wan.error_feedback") && Contains("loses nothing"));
}

TEST_CASE("more samples than exist and batches beyond a rank's share are refused") {
  CHECK_THAT(spoiled("scenario.toml", "beijing = 640", "beijing = 641"), Contains("961") && Contains("960"));
  CHECK_THAT(spoiled("scenario.toml", "batch_per_rank = 16", "batch_per_rank = 321"), Contains("321"));
}

TEST_CASE("two variants of one name are refused") {
  CHECK_THAT(spoiled("scenario.toml", "name = \"ring\"", "name = \"ps\""),
             Contains("variant[1].name: \"ps\" is already the name of variant[0]"));
}

TEST_CASE("every error of both files is reported in one go") {
  const Workspace workspace;
  workspace.replace_in("topology.toml", "100 Mbps", "100 Mbs");
  workspace.replace_in("topology.toml", "nodes = 2", "nodes = -2");
  workspace.replace_in("scenario.toml", "seed = 3", "sede = 3");
  workspace.replace_in("scenario.toml", "eval_every = 5", "eval_every = \"five\"");
  const auto message = refused({workspace.scenario()});
  for (const auto* piece : {"Mbs", "nodes: -2", "did you mean \"seed\"", "train.eval_every: a whole number is wanted"})
    CHECK_THAT(message, Contains(piece));
}

TEST_CASE("data that is not there says how to get it") {
  const auto message =
      spoiled("scenario.toml", "source = \"generated\"\ntrain_samples = 960\ntest_samples = 200\nheight = 8\nwidth = 8\nclasses = 4\n",
              "source = \"mnist\"\npath = \"nowhere\"\n");
  CHECK_THAT(message, Contains("nowhere") && Contains("tools/get_data mnist"));
}

TEST_CASE("IDX files that are damaged or swapped are refused") {
  const Workspace workspace;
  const std::string images(
      "\0\0\x08\x03\0\0\0\x02\0\0\0\x02\0\0\0\x02"
      "abcdefgh",
      24);
  const std::string labels("\0\0\x08\x01\0\0\0\x02\0\x01", 10);
  workspace.replace_in("scenario.toml",
                       "source = \"generated\"\ntrain_samples = 960\ntest_samples = 200\nheight = 8\nwidth = 8\nclasses = 4\n",
                       "source = \"idx\"\npath = \".\"\n");
  const auto with = [&](const std::string& train_images, const std::string& train_labels) {
    workspace.write("train-images-idx3-ubyte", train_images);
    workspace.write("train-labels-idx1-ubyte", train_labels);
    workspace.write("t10k-images-idx3-ubyte", images);
    workspace.write("t10k-labels-idx1-ubyte", labels);
    return refused({workspace.scenario()});
  };
  CHECK_THAT(with(images.substr(0, 20), labels), Contains("train-images-idx3-ubyte"));
  CHECK_THAT(with(images.substr(0, 3), labels), Contains("train-images-idx3-ubyte"));
  CHECK_THAT(with(labels, images), Contains("train-images-idx3-ubyte"));
  CHECK_THAT(with(images, labels.substr(0, 7) + std::string("\x01\0", 2)), Contains("train-"));
  CHECK_THAT(with("", ""), Contains("train-images-idx3-ubyte"));
}

TEST_CASE("an output path that cannot be written is found before the run") {
  const Workspace workspace;
  // A run of this length would take minutes: the answer comes before it.
  const std::vector<std::string> long_run{workspace.scenario(), "--set", "train.stop={ epochs = 1000000 }", "--json"};
  const auto with = [&](const std::string& path) {
    auto arguments = long_run;
    arguments.push_back(path);
    return refused(arguments);
  };
  CHECK_THAT(with(workspace.path("")), Contains("is a directory"));
  CHECK_THAT(with(workspace.path("no/such/folder.json")), Contains("No such file or directory"));
  CHECK_THAT(with("/proc/nothing.json"), Contains("cannot be written"));
}

TEST_CASE("a full disk while writing is a failed run, not a silent one") {
  const Workspace workspace;
  const auto done = sim({workspace.scenario(), "--json", "/dev/full"});
  CHECK(done.exit_code == 3);
  CHECK_THAT(done.err, Contains("/dev/full cannot be written: No space left on device"));
}

TEST_CASE("options that are none are refused") {
  const Workspace workspace;
  CHECK_THAT(refused({}), Contains("which scenario?"));
  CHECK_THAT(refused({"--nonsense"}), Contains("--nonsense"));
  CHECK_THAT(refused({workspace.scenario(), "another.toml"}), Contains("another.toml"));
  CHECK_THAT(refused({workspace.scenario(), "--jobs", "0"}), Contains("--jobs"));
  CHECK_THAT(refused({workspace.scenario(), "--jobs", "many"}), Contains("--jobs"));
  for (const std::string seed : {"-1", "1.5", "x", "99999999999999999999"}) {
    CHECK_THAT(refused({workspace.scenario(), "--seed", seed}),
               Contains("--seed: \"" + seed + "\" is not a whole number between 0 and 9223372036854775807"));
  }
  CHECK_THAT(refused({workspace.scenario(), "--variant", "rign"}), Contains("did you mean \"ring\"?"));
  CHECK_THAT(refused({workspace.scenario(), "--set", "nonsense"}), Contains("write KEY=VALUE"));
  CHECK_THAT(refused({workspace.scenario(), "--set", "train.bukcet=1 MB"}), Contains("--set train.bukcet=1 MB: train.bukcet: unknown key"));
}

}  // namespace
}  // namespace xdc::cli
