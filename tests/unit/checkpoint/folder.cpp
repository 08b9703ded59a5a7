#include "core/checkpoint/folder.hpp"

#include <catch2/catch.hpp>
#include <map>

#include "core/base/digest.hpp"
#include "tests/unit/checkpoint/storages.hpp"

namespace xdc {
namespace {

Manifest write(CheckpointFolder& folder, int64_t step, double accuracy) {
  const std::string contents = "step " + std::to_string(step);
  Manifest manifest;
  manifest.step = step;
  manifest.dealt.deals = {{0, {{100, 1, 1}}}};
  manifest.accuracy = accuracy;
  manifest.loss = 1 - accuracy;
  manifest.files = {{kParametersFile, "rank0.dc0", static_cast<int64_t>(contents.size()), digest(contents), 0}};
  REQUIRE(folder.write(step, kParametersFile, std::as_bytes(std::span(contents))).ok());
  REQUIRE(folder.write(manifest).ok());
  return manifest;
}

}  // namespace

TEST_CASE("only what has a manifest is a checkpoint, and the newest comes first") {
  MapStorage storage;
  CheckpointFolder folder(storage);
  write(folder, 100, 0.5);
  write(folder, 1'000'000, 0.5);
  write(folder, 20, 0.5);
  REQUIRE(folder.write(300, kParametersFile, std::span<const std::byte>()).ok());
  storage.files["step-7/manifest.json"] = {};
  storage.files["step-00000a/manifest.json"] = {};
  const auto steps = folder.steps();
  REQUIRE(steps.ok());
  CHECK(steps.value() == std::vector<int64_t>{1'000'000, 100, 20});
}

TEST_CASE("a file that is missing, shorter or changed is named with what is wrong") {
  MapStorage storage;
  CheckpointFolder folder(storage);
  const auto manifest = write(folder, 100, 0.5);
  const auto& file = manifest.files.front();
  CHECK(folder.read(manifest, file).ok());
  auto& contents = storage.files["step-000100/parameters.safetensors"];
  contents[3] ^= std::byte{1};
  CHECK(folder.read(manifest, file).error().message ==
        "step-000100/parameters.safetensors: damaged, its bytes are not those that were written");
  contents.pop_back();
  CHECK(folder.read(manifest, file).error().message == "step-000100/parameters.safetensors: 7 bytes, where 8 were written");
  storage.files.erase("step-000100/parameters.safetensors");
  CHECK(folder.read(manifest, file).error().message == "there is no step-000100/parameters.safetensors");
  storage.files["step-000200/manifest.json"] = storage.files["step-000100/manifest.json"];
  CHECK(folder.manifest(200).error().message == "step-000200/manifest.json: it is that of step 100");
}

TEST_CASE("the newest and the best are kept, and what goes loses its manifest first") {
  MapStorage storage;
  CheckpointFolder folder(storage);
  for (const auto& [step, accuracy] : std::map<int64_t, double>{{10, 0.9}, {20, 0.3}, {30, 0.4}, {40, 0.5}}) write(folder, step, accuracy);
  CHECK(steps_to_keep(folder, 40, 2, "").value() == std::set<int64_t>{30, 40});
  CHECK(steps_to_keep(folder, 40, 2, "accuracy").value() == std::set<int64_t>{10, 30, 40});
  CHECK(steps_to_keep(folder, 40, 1, "loss").value() == std::set<int64_t>{10, 40});
  // What lies ahead of where the run is is none of its business.
  CHECK(steps_to_keep(folder, 30, 2, "").value() == std::set<int64_t>{20, 30});
  storage.order.clear();
  REQUIRE(folder.prune({30, 40}, 40).ok());
  CHECK(storage.order == std::vector<std::string>{"remove step-000010/manifest.json", "remove step-000020/manifest.json",
                                                  "remove step-000010/parameters.safetensors",
                                                  "remove step-000020/parameters.safetensors"});
}

TEST_CASE("a member's file has a name that any storage takes") {
  CHECK(piece_file("rank3.beijing") == "rank3.beijing.safetensors");
  CHECK(piece_file("rank3.Sao Paulo/1") == "rank3.sao-paulo-1.safetensors");
}

}  // namespace xdc
