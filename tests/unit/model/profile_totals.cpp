// Do the built-in profiles say what is published, and what their architectures say?
#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <sstream>

#include "core/config/device_table.hpp"
#include "core/model/profile.hpp"
#include "core/model/profile_embedded.hpp"
#include "tests/unit/model/profile_architecture.hpp"

namespace xdc {
namespace {

const CostProfile& builtin(const std::string& name) {
  for (const auto& profile : builtin_profiles()) {
    if (profile.name == name) return profile;
  }
  FAIL("no profile " << name);
  return builtin_profiles().front();
}

void check_layers(const std::string& name, const architecture::Layers& wanted) {
  const auto& profile = builtin(name);
  REQUIRE(profile.layers.size() == wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    const auto& have = profile.layers[i];
    INFO(name << ", layer " << i << ", \"" << wanted[i].name << '"');
    CHECK(have.name == wanted[i].name);
    CHECK(have.parameters == wanted[i].parameters);
    CHECK(have.forward_flops == wanted[i].forward_flops);
    CHECK(have.backward_flops == wanted[i].backward_flops);
    CHECK(have.forward_values == wanted[i].forward_values);
    CHECK(have.backward_values == wanted[i].backward_values);
    CHECK(have.kept_values == wanted[i].kept_values);
  }
}

// Seconds of one step by the roofline, layer by layer.
double step_seconds(const CostProfile& profile, const DeviceSpec& device, int batch) {
  double seconds = 0;
  for (const auto& layer : profile.layers) {
    for (const Cost cost : {forward_cost(layer, batch), backward_cost(layer, batch)}) {
      seconds += std::max(cost.flops / device.flops_per_s, cost.bytes / device.memory_bandwidth);
    }
  }
  return seconds;
}

const DeviceSpec& device(std::string_view name) {
  static const Topology none;
  const auto* found = find_device(none, name);
  REQUIRE(found != nullptr);
  return *found;
}

TEST_CASE("The embedded profiles are the files of core/model/profiles, byte by byte") {
  std::vector<std::string> names;
  for (const auto& embedded : embedded_profiles()) {
    names.emplace_back(embedded.name);
    std::ifstream file(std::string(XDC_SOURCE_DIR) + "/core/model/profiles/" + names.back() + ".toml", std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    CHECK(embedded.text == text.str());
  }
  CHECK(names == std::vector<std::string>{"bert_base", "decoder_13b", "decoder_1_3b", "ppocr_v4_server_rec", "resnet50"});
}

TEST_CASE("Every built-in profile says what it is, where its figures are from and what one sample is") {
  for (const auto& profile : builtin_profiles()) {
    CHECK_FALSE(profile.description.empty());
    CHECK_FALSE(profile.source.empty());
    CHECK_FALSE(profile.sample.empty());
  }
}

TEST_CASE("ResNet-50 has the figures of its layers' shapes") { check_layers("resnet50", architecture::resnet50()); }
TEST_CASE("PP-OCRv4 server recognition has the figures of its layers' shapes") {
  check_layers("ppocr_v4_server_rec", architecture::ppocr_v4_server_rec());
}
TEST_CASE("BERT-base has the figures of its layers' shapes") { check_layers("bert_base", architecture::bert_base()); }
TEST_CASE("The 1.3 B decoder has the figures of its layers' shapes") {
  check_layers("decoder_1_3b", architecture::decoder({.layers = 24, .width = 2048, .heads = 16}));
}
TEST_CASE("The 13 B decoder has the figures of its layers' shapes") {
  check_layers("decoder_13b", architecture::decoder({.layers = 40, .width = 5120, .heads = 40}));
}

TEST_CASE("ResNet-50 has torchvision's 25,557,032 parameters and 4.09 G multiply-adds, within 2 %") {
  const auto& profile = builtin("resnet50");
  CHECK(profile.parameters() == 25'557'032);
  CHECK(profile.forward_flops() == Approx(2 * 4.09e9).epsilon(0.02));
  CHECK(profile.backward_flops() == Approx(2 * profile.forward_flops()).epsilon(0.02));
}

TEST_CASE("PP-OCRv4 server recognition without its training guide is the 88 M that PaddleOCR exports, within 3 %") {
  int64_t exported = 0;
  for (const auto& layer : builtin("ppocr_v4_server_rec").layers) {
    if (!layer.name.starts_with("nrtr")) exported += layer.parameters;
  }
  CHECK(exported == 22'587'321);
  CHECK(4.0 * static_cast<double>(exported) == Approx(88.0 * 1024 * 1024).epsilon(0.03));
  CHECK(builtin("ppocr_v4_server_rec").parameters() == 37'537'977);
}

TEST_CASE("BERT-base has the published 110 M parameters, within 1 %") {
  const auto& profile = builtin("bert_base");
  CHECK(profile.parameters() == 109'482'240);
  CHECK(static_cast<double>(profile.parameters()) == Approx(110e6).epsilon(0.01));
}

TEST_CASE("The decoders have the published 1.3 B and 13 B parameters, within 2 %") {
  CHECK(static_cast<double>(builtin("decoder_1_3b").parameters()) == Approx(1.3e9).epsilon(0.02));
  CHECK(static_cast<double>(builtin("decoder_13b").parameters()) == Approx(13.0e9).epsilon(0.02));
}

TEST_CASE("Transformers' operations agree with 24 N l h^2 (1 + N / 6h) + 2 N h V forward, within 1.5 %") {
  struct Shape {
    std::string name;
    double rows, layers, width, tokens;
  };
  for (const auto& s :
       {Shape{"bert_base", 512, 12, 768, 0}, {"decoder_1_3b", 2048, 24, 2048, 50257}, {"decoder_13b", 2048, 40, 5120, 50257}}) {
    INFO(s.name);
    const double wanted = 24 * s.rows * s.layers * s.width * s.width * (1 + s.rows / (6 * s.width)) + 2 * s.rows * s.width * s.tokens;
    CHECK(builtin(s.name).forward_flops() == Approx(wanted).epsilon(0.015));
  }
}

TEST_CASE("A layer of BERT keeps what Korthikanti et al. count, with four bytes a value and one a mask") {
  constexpr double kRows = 512, kWidth = 768, kHeads = 12;
  double kept = 0;
  for (const auto& layer : builtin("bert_base").layers) {
    if (layer.name.starts_with("layer #1/")) kept += 4 * layer.kept_values;
  }
  // Theirs is 34 s b h + 5 a s^2 b with two bytes a value: 16 s h values and 2 s h masks; 2 a s^2 values and a s^2 masks.
  CHECK(kept == (16 * 4 + 2) * kRows * kWidth + (2 * 4 + 1) * kHeads * kRows * kRows);
}

TEST_CASE("ResNet-50's pace on a V100 is NVIDIA's 367 images a second in fp32, within 25 %") {
  const double pace = 112 / step_seconds(builtin("resnet50"), device("v100"), 112);
  CHECK(pace == Approx(367).epsilon(0.25));
}

TEST_CASE("ResNet-50's forward pass on a T4 is NVIDIA's 428 images a second in fp32, within 25 %") {
  double seconds = 0;
  for (const auto& layer : builtin("resnet50").layers) {
    const Cost cost = forward_cost(layer, 64);
    seconds += std::max(cost.flops / device("t4").flops_per_s, cost.bytes / device("t4").memory_bandwidth);
  }
  CHECK(64 / seconds == Approx(428).epsilon(0.25));
}

}  // namespace
}  // namespace xdc
