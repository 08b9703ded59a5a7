// Are the zoo's models the ones their names promise?
#include "core/model/zoo.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

namespace xdc {
namespace {

int64_t parameters_of(const char* kind) { return make_network(kind, 1, 28, 28, 10).value().parameters; }

TEST_CASE("The models have the parameters their papers and pages count") {
  CHECK(parameters_of("linear") == 7'850);
  CHECK(parameters_of("mlp") == 101'770);
  CHECK(parameters_of("lenet") == 61'706);
}

TEST_CASE("LeNet's layers have LeNet-5's shapes") {
  const NetworkSpec lenet = make_network("lenet", 1, 28, 28, 10).value();
  REQUIRE(lenet.layers.size() == 11);
  CHECK(lenet.layers[0].outputs() == 6 * 28 * 28);
  CHECK(lenet.layers[2].outputs() == 6 * 14 * 14);
  CHECK(lenet.layers[3].outputs() == 16 * 10 * 10);
  CHECK(lenet.layers[5].outputs() == 16 * 5 * 5);
  CHECK(lenet.layers[6].out_channels == 120);
  CHECK(lenet.layers[8].out_channels == 84);
  CHECK(lenet.layers[10].out_channels == 10);
  CHECK(lenet.inputs() == 784);
  CHECK(lenet.classes == 10);
}

TEST_CASE("Parameters lie one layer behind the other without gaps") {
  for (const std::string& name : model_names()) {
    const NetworkSpec spec = make_network(name, 3, 32, 30, 7).value();
    int64_t at = 0;
    for (const LayerSpec& layer : spec.layers) {
      CHECK(layer.first_parameter == at);
      at += layer.parameters;
    }
    CHECK(at == spec.parameters);
    CHECK(spec.layers.back().outputs() == 7);
  }
}

TEST_CASE("Model names are sorted and each makes a network") {
  CHECK(std::ranges::is_sorted(model_names()));
  for (const std::string& name : model_names()) {
    CHECK(make_network(name, 1, 12, 12, 2).ok());
  }
}

TEST_CASE("An impossible model is refused with what would be possible") {
  const auto message = [](std::string_view kind, int channels, int height, int width, int classes) {
    const auto network = make_network(kind, channels, height, width, classes);
    REQUIRE(!network.ok());
    CHECK(network.error().code == ErrorCode::invalid);
    return network.error().message;
  };
  CHECK_THAT(message("resnet", 1, 28, 28, 10), Catch::Contains("lenet, linear, mlp"));
  CHECK_THAT(message("lenet", 1, 11, 28, 10), Catch::Contains("at least 12 x 12, the data has 11 x 28"));
  CHECK_THAT(message("mlp", 1, 28, 28, 1), Catch::Contains("at least 2 classes"));
  CHECK_THAT(message("mlp", 0, 28, 28, 10), Catch::Contains("no pixels"));
  CHECK_THAT(message("mlp", 4096, 4096, 4096, 10), Catch::Contains("too large"));
}

}  // namespace
}  // namespace xdc
