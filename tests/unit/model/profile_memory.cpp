// Is the memory of training added up as one would by hand?
#include "core/model/profile_memory.hpp"

#include <catch2/catch.hpp>
#include <limits>

#include "core/config/device_table.hpp"
#include "core/model/zoo.hpp"

namespace xdc {
namespace {

ModelFootprint builtin(const std::string& name) {
  Diagnostics diagnostics;
  return footprint(find_profile(name, diagnostics).value());
}

int64_t device_memory(std::string_view name) {
  static const Topology none;
  return find_device(none, name)->memory_bytes;
}

TEST_CASE("State counts every set, its parameters and its optimizer tensors; gradient, exchange and activations come once") {
  const auto need = memory_need({.parameters = 1000, .kept_values = 30, .largest_kept_values = 20},
                                {.sets = 3, .optimizer_tensors = 2, .exchange_elements = 50, .batch = 8});
  CHECK(need.state == 4 * 1000 * 3 * 3);
  CHECK(need.gradient == 4 * 1000);
  CHECK(need.exchange == 4 * 50);
  CHECK(need.activations == 4 * 8 * (30 + 2 * 20));
  CHECK(need.total() == 36'000 + 4'000 + 200 + 2'240);
  CHECK(memory_bytes({1000, 30, 20}, {3, 2, 50, 8}) == need.total());
}

TEST_CASE("Residuals are kept in every set, beside the state") {
  const auto need = memory_need({.parameters = 1000}, {.sets = 3, .residuals = 700});
  CHECK(need.state == 4 * 1000 * 3);
  CHECK(need.residuals == 4 * 700 * 3);
  CHECK(need.total() == 12'000 + 8'400 + 4'000);
  CHECK(describe(need) == "12 kB of parameters and optimizer state, 8.4 kB of residuals of encodings, 4 kB of gradients");
}

TEST_CASE("A vote needs a third less state than undoing") {
  const ModelFootprint model{900, 0, 0};
  CHECK(memory_need(model, {.sets = 2, .optimizer_tensors = 1}).state * 3 ==
        memory_need(model, {.sets = 3, .optimizer_tensors = 1}).state * 2);
}

TEST_CASE("An empty batch keeps no activations") { CHECK(memory_need({10, 5, 5}, {.batch = 0}).activations == 0); }

TEST_CASE("A profile keeps what its layers keep") {
  CostProfile profile;
  profile.layers = {{"a", 10, 1, 1, 1, 1, 5}, {"b", 20, 1, 1, 1, 1, 8}};
  const auto model = footprint(profile);
  CHECK(model.parameters == 30);
  CHECK(model.kept_values == 13);
  CHECK(model.largest_kept_values == 8);
}

TEST_CASE("A network keeps the inputs of every layer and the logits") {
  const auto model = footprint(make_network("mlp", 1, 28, 28, 10).value());
  CHECK(model.parameters == 101'770);
  CHECK(model.kept_values == 784 + 128 + 128 + 10);
  CHECK(model.largest_kept_values == 784);
}

TEST_CASE("ResNet-50 with momentum and a batch of 128 fits a V100 of 32 GB, and one of 512 does not") {
  const auto model = builtin("resnet50");
  CHECK(memory_bytes(model, {.optimizer_tensors = 1, .batch = 128}) < device_memory("v100"));
  CHECK(memory_bytes(model, {.optimizer_tensors = 1, .batch = 512}) > device_memory("v100"));
}

TEST_CASE("A 13 B decoder with Adam in f32 fits no device of the table, not even empty-handed") {
  const auto need = memory_need(builtin("decoder_13b"), {.sets = 2, .optimizer_tensors = 2, .batch = 1});
  CHECK(need.state == 12'853'386'240 * 4 * 6);
  for (const auto& device : builtin_devices()) CHECK(need.state > device.memory_bytes);
}

TEST_CASE("A need beyond 64 bits stops at the largest number") {
  const auto most = std::numeric_limits<int64_t>::max();
  const auto need = memory_need({most, 1e30, 1e30}, {.sets = 3, .optimizer_tensors = 2, .batch = most});
  CHECK(need.state == most);
  CHECK(need.activations == most);
  CHECK(need.total() == most);
}

TEST_CASE("A need describes itself part by part") {
  CHECK(describe(memory_need({250'000'000, 1e6, 0}, {.sets = 3, .optimizer_tensors = 2, .exchange_elements = 5'000'000, .batch = 10})) ==
        "9 GB of parameters and optimizer state, 1 GB of gradients, 20 MB of exchange buffers, 40 MB of activations");
}

}  // namespace
}  // namespace xdc
