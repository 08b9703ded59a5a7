// Are operations and bytes counted as one counts by hand?
#include "core/model/cost.hpp"

#include <catch2/catch.hpp>

#include "core/model/zoo.hpp"

namespace xdc {
namespace {

TEST_CASE("LeNet's forward operations are those of its convolutions and dense layers") {
  const NetworkSpec lenet = make_network("lenet", 1, 28, 28, 10).value();
  CHECK(forward_cost(lenet.layers[0], 1).flops == 2 * 28 * 28 * 6 * 25);
  CHECK(forward_cost(lenet.layers[3], 1).flops == 2 * 10 * 10 * 16 * 150);
  CHECK(forward_cost(lenet.layers[6], 1).flops == 2 * 400 * 120);
  CHECK(forward_cost(lenet.layers[6], 32).flops == 32 * 2 * 400 * 120);
  CHECK(forward_cost(lenet.layers[1], 1).flops == 6 * 28 * 28);
}

TEST_CASE("Backward costs twice the operations of forward, but once for the first layer with parameters") {
  const NetworkSpec lenet = make_network("lenet", 1, 28, 28, 10).value();
  CHECK(backward_cost(lenet.layers[3], 4).flops == 2 * forward_cost(lenet.layers[3], 4).flops);
  CHECK(backward_cost(lenet.layers[0], 4).flops == forward_cost(lenet.layers[0], 4).flops);
}

TEST_CASE("Bytes are every value read or written once") {
  const NetworkSpec linear = make_network("linear", 1, 28, 28, 10).value();
  CHECK(forward_cost(linear.layers[0], 2).bytes == 4 * (2 * 784 + 2 * 10 + 7850));
  CHECK(backward_cost(linear.layers[0], 2).bytes == 4 * (2 * 784 + 2 * 10 + 7850));
  const NetworkSpec mlp = make_network("mlp", 1, 28, 28, 10).value();
  CHECK(backward_cost(mlp.layers[2], 2).bytes == 4 * (2 * 2 * 128 + 2 * 2 * 10 + 2 * 1290));
}

TEST_CASE("An empty batch costs no operations") {
  const NetworkSpec lenet = make_network("lenet", 1, 28, 28, 10).value();
  CHECK(forward_cost(lenet.layers[0], 0).flops == 0);
  CHECK(backward_cost(lenet.layers[3], 0).flops == 0);
}

}  // namespace
}  // namespace xdc
