// Which networks does a device refuse, and does it name the fault?
#include <catch2/catch.hpp>

#include "core/math/numerics.hpp"
#include "core/model/zoo.hpp"
#include "tests/kernels/reference.hpp"

namespace xdc {
namespace {

std::string refusal(const NetworkSpec& spec, int batch = 2) {
  const auto network = cpu().compile(spec, batch);
  REQUIRE(!network.ok());
  CHECK(network.error().code == ErrorCode::invalid);
  return network.error().message;
}

TEST_CASE("A network whose layers do not fit is refused with the layer's number") {
  const NetworkSpec good = make_network("lenet", 1, 28, 28, 10).value();
  CHECK(cpu().compile(good, 2).ok());

  NetworkSpec bad = good;
  bad.layers[0].out_height = 27;
  CHECK_THAT(refusal(bad), Catch::Contains("layer 0 has an output of 6 x 27 x 28"));
  bad = good;
  bad.layers[3].in_channels = 5;
  CHECK_THAT(refusal(bad), Catch::Contains("layer 3 has 2416 parameters; it takes 2016"));
  bad = good;
  bad.layers[6].in_channels = 15;
  CHECK_THAT(refusal(bad), Catch::Contains("layer 6 has 48120 parameters"));
  bad = good;
  bad.layers[8].first_parameter += 1;
  CHECK_THAT(refusal(bad), Catch::Contains("layer 8 starts at parameter 50693, not at 50692"));
  bad = good;
  bad.layers[2].kernel = 0;
  CHECK_THAT(refusal(bad), Catch::Contains("layer 2 has a kernel of 0"));
  bad = good;
  bad.classes = 11;
  CHECK_THAT(refusal(bad), Catch::Contains("11 classes"));
  bad = good;
  bad.layers.erase(bad.layers.begin() + 1);
  CHECK(cpu().compile(bad, 2).ok());
  bad.layers.erase(bad.layers.begin() + 1);
  CHECK_THAT(refusal(bad), Catch::Contains("layer 1 takes 1176 values, layer 0 gives 4704"));
  CHECK_THAT(refusal(NetworkSpec{}), Catch::Contains("0 layers"));
  CHECK_THAT(refusal(good, 0), Catch::Contains("batch of 0"));
}

TEST_CASE("A network without parameters trains nothing, and does not fail") {
  Subject subject(NetworkSketch(3, 2, 2).pool(2).spec(), 2, 1);
  CHECK(subject.run(2, 1.0F) == Approx(reference_loss(subject.spec, {}, subject.images_in_double(2), subject.labels, 1.0)).epsilon(1e-6));
}

TEST_CASE("Numerics are pinned once for the whole process") {
  (void)cpu();
  CHECK(pin_numerics(CpuNumerics::portable).ok());
  const Status other = pin_numerics(CpuNumerics::native);
  REQUIRE(!other.ok());
  CHECK_THAT(other.error().message, Catch::Contains("already computes with \"portable\""));
  CHECK_THAT(describe_numerics(), Catch::StartsWith("oneDNN 2.6"));
  CHECK_THAT(describe_numerics(), !Catch::Contains("AVX-512"));
}

}  // namespace
}  // namespace xdc
