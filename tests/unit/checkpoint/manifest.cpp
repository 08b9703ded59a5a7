#include "core/checkpoint/manifest.hpp"

#include <catch2/catch.hpp>

namespace xdc {
namespace {

Manifest example() {
  Manifest out;
  out.version = "0.1";
  out.scenario_digest = "abc";
  out.variant = "hierarchical \xE2\x82\xAC";
  out.seed = 0xFFFFFFFFFFFFFFFF;
  out.step = 120;
  out.round = 30;
  out.epoch = 2;
  out.samples = 3600;
  out.elapsed_ns = 1'234'567'890'123;
  out.dealt = {60, 1, 1800, {{60, {{1000, 4, 24}, {800, 2, 20}}}, {70, {{1000, 3, 32}, {800, 1, 20}}}}};
  out.settings = {{"seed", "7"}, {"optimizer", "{kind=adam}"}};
  out.layout = "def";
  out.lasting_layout = "ghi";
  out.members = {"rank0.beijing", "server0.beijing"};
  out.accuracy = 0.1 + 0.2;
  out.files = {{"parameters.safetensors", "rank0.beijing", 400, "00ff", 0},
               {"rank0.beijing.safetensors", "rank0.beijing", 100, "11ee", 0.5}};
  return out;
}

}  // namespace

TEST_CASE("a manifest says the same after it has been read") {
  const auto text = to_json(example());
  const auto read = manifest_from_json(text);
  REQUIRE(read.ok());
  CHECK(to_json(read.value()) == text);
  CHECK(read.value().seed == 0xFFFFFFFFFFFFFFFF);
  CHECK(read.value().accuracy == 0.1 + 0.2);
  CHECK(!read.value().loss);
  CHECK(read.value().dealt == example().dealt);
  CHECK(read.value().find("rank0.beijing.safetensors")->residual_norm == 0.5);
  CHECK(read.value().find("nobody") == nullptr);
}

TEST_CASE("a manifest in which any bit has flipped is refused, or says the same") {
  const auto text = to_json(example());
  int same = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      auto flipped = text;
      flipped[i] = static_cast<char>(flipped[i] ^ (1 << bit));
      const auto read = manifest_from_json(flipped);
      if (!read.ok()) continue;
      // A blank became another blank.
      ++same;
      CHECK(to_json(read.value()) == text);
    }
  }
  CHECK(same < static_cast<int>(text.size()));
}

TEST_CASE("a manifest that is cut short is refused") {
  const auto text = to_json(example());
  for (size_t size = 0; size + 2 < text.size(); ++size) CHECK(!manifest_from_json(text.substr(0, size)).ok());
}

TEST_CASE("a manifest by which samples cannot have been dealt is refused") {
  const std::vector<SampleSchedule::Deals> impossible = {
      {}, {60, 1, 0, {{59, {{10, 1, 1}}}}}, {0, 0, 0, {{0, {}}}}, {0, 0, 0, {{0, {{10, 0, 1}}}}}, {0, 0, 0, {{0, {{10, 1, 1}}}, {5, {}}}}};
  for (const auto& dealt : impossible) {
    auto manifest = example();
    manifest.dealt = dealt;
    const auto read = manifest_from_json(to_json(manifest));
    REQUIRE(!read.ok());
    CHECK(read.error().message == "its manifest has no sound \"deals\"");
  }
}

TEST_CASE("settings that differ are named with what both say") {
  CHECK(differing_settings(example(), example().settings).empty());
  CHECK(differing_settings(example(), {{"seed", "8"}, {"optimizer", "{kind=adam}"}, {"codec", "int8"}}) ==
        "\n  seed: there 7; here 8\n  codec: there (nothing); here int8");
  CHECK(differing_settings(example(), {{"seed", "7"}}) == "\n  optimizer: there {kind=adam}; here (nothing)");
}

TEST_CASE("what a member tells of its files is read back") {
  const auto files = example().files;
  const auto read = pieces_from_json(to_json(files));
  REQUIRE(read.ok());
  CHECK(to_json(read.value()) == to_json(files));
  CHECK(!pieces_from_json("{}").ok());
  CHECK(!pieces_from_json(R"([{"name":"x"}])").ok());
}

}  // namespace xdc
