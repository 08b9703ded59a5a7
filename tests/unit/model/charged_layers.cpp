// Whose layers is a step charged for, and after which of them is a part of the flat buffer complete?
#include "core/model/charged_layers.hpp"

#include <catch2/catch.hpp>

#include "core/model/cost.hpp"
#include "core/model/zoo.hpp"

namespace xdc {
namespace {

bool same(Cost a, Cost b) { return a.flops == b.flops && a.bytes == b.bytes; }

// Parameters [0, 512), none, [512, 520), none, [520, 1032).
CostProfile big() {
  CostProfile profile;
  profile.name = "big";
  profile.layers = {{"stem", 512, 1e9, 2e9, 10, 20, 5},
                    {"relu", 0, 1e3, 1e3, 30, 30, 5},
                    {"norm", 8, 1e4, 1e4, 30, 30, 5},
                    {"pool", 0, 1e3, 1e3, 8, 8, 2},
                    {"head", 512, 3e9, 6e9, 10, 20, 5}};
  return profile;
}

TEST_CASE("Without a profile the network's own layers are charged") {
  const auto network = make_network("lenet", 1, 28, 28, 10).value();
  const ChargedLayers layers(network, nullptr);
  REQUIRE(layers.count() == static_cast<int>(network.layers.size()));
  for (int l = 0; l < layers.count(); ++l) {
    const auto& layer = network.layers[static_cast<size_t>(l)];
    CHECK(same(layers.forward(l, 7), forward_cost(layer, 7)));
    CHECK(same(layers.backward(l, 7), backward_cost(layer, 7)));
    if (layer.parameters == 0) continue;
    CHECK(layers.lowest_within(layer.first_parameter, layer.first_parameter + layer.parameters) == l);
  }
}

TEST_CASE("With a profile its layers are charged, and the network's are not") {
  const auto network = make_network("linear", 1, 8, 8, 4).value();
  const auto profile = big();
  const ChargedLayers layers(network, &profile);
  REQUIRE(layers.count() == 5);
  for (int l = 0; l < layers.count(); ++l) {
    CHECK(same(layers.forward(l, 3), forward_cost(profile.layers[static_cast<size_t>(l)], 3)));
    CHECK(same(layers.backward(l, 3), backward_cost(profile.layers[static_cast<size_t>(l)], 3)));
  }
}

TEST_CASE("A part of the buffer is complete after the lowest layer that has parameters in it") {
  const NetworkSpec none;
  const auto profile = big();
  const ChargedLayers layers(none, &profile);
  CHECK(layers.lowest_within(0, 1032) == 0);
  CHECK(layers.lowest_within(511, 520) == 0);
  CHECK(layers.lowest_within(512, 520) == 2);  // not the layer before it, which has none
  CHECK(layers.lowest_within(519, 1032) == 2);
  CHECK(layers.lowest_within(520, 521) == 4);
  CHECK(layers.lowest_within(1031, 1032) == 4);
}

TEST_CASE("A part without elements waits for no layer but the first of backward") {
  const NetworkSpec none;
  const auto profile = big();
  CHECK(ChargedLayers(none, &profile).lowest_within(100, 100) == 4);
  CHECK(ChargedLayers(none, nullptr).lowest_within(0, 0) == 0);
}

}  // namespace
}  // namespace xdc
