// Is there always an intact checkpoint, and is a spoiled one always known as such, whatever a storage does?
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "core/base/digest.hpp"
#include "core/checkpoint/folder.hpp"
#include "tests/unit/checkpoint/storages.hpp"

namespace xdc {
namespace {

using Fault = FaultyStorage::Fault;

std::string contents_of(int64_t step, std::string_view file) { return fmt::format("{} of step {}, which are as long as this", file, step); }

// As the first rank does, and gives up at the first error.
Status save(CheckpointFolder& folder, int64_t step, int64_t keep) {
  Manifest manifest;
  manifest.step = step;
  manifest.dealt.deals = {{0, {{100, 1, 1}}}};
  for (const std::string file : {kParametersFile, kOptimizerFile}) {
    const auto contents = contents_of(step, file);
    XDC_TRY(folder.write(step, file, std::as_bytes(std::span(contents))));
    manifest.files.push_back({file, "rank0.dc0", static_cast<int64_t>(contents.size()), digest(contents), 0});
  }
  XDC_TRY(folder.write(manifest));
  XDC_TRY_ASSIGN(const auto kept, steps_to_keep(folder, step, keep, ""));
  return folder.prune(kept, step);
}

// The newest whose manifest and files are what was written; -1: none. What is passed over is named.
int64_t newest_intact(CheckpointFolder& folder) {
  const auto steps = folder.steps();
  REQUIRE(steps.ok());
  for (const int64_t step : steps.value()) {
    const auto manifest = folder.manifest(step);
    const auto named = [&](const Error& error) { CHECK(error.message.find(checkpoint_folder(step)) != std::string::npos); };
    if (!manifest.ok()) {
      named(manifest.error());
      continue;
    }
    REQUIRE(manifest.value().files.size() == 2);
    bool intact = true;
    for (const auto& file : manifest.value().files) {
      const auto read = folder.read(manifest.value(), file);
      if (!read.ok()) {
        named(read.error());
        intact = false;
        continue;
      }
      const auto expected = contents_of(step, file.name);
      CHECK(std::string(reinterpret_cast<const char*>(read.value().data()), read.value().size()) == expected);
    }
    if (intact) return step;
  }
  return -1;
}

}  // namespace

TEST_CASE(
    "whichever call of a storage fails while a checkpoint is saved, the one before or this one is intact, and the next one is saved") {
  for (const Fault fault : {Fault::fails, Fault::fails_late}) {
    for (int64_t call = 1;; ++call) {
      MapStorage storage;
      CheckpointFolder sound(storage);
      REQUIRE(save(sound, 10, 1).ok());
      FaultyStorage faulty(storage, call, fault);
      CheckpointFolder folder(faulty);
      const Status saved = save(folder, 20, 1);
      INFO(call);
      CHECK(saved.ok() == (faulty.calls() < call));
      if (saved.ok()) break;
      CHECK_THAT(saved.error().message, Catch::Contains("the disk has no room"));
      CHECK(newest_intact(sound) >= 10);
      // Nothing that failed is in the way of what follows, or outlives it.
      REQUIRE(save(sound, 30, 1).ok());
      CHECK(newest_intact(sound) == 30);
      CHECK(storage.files.size() == 3);
    }
  }
}

TEST_CASE("a storage that loses or changes what is put, and says nothing, is found out, and the one before is taken") {
  for (const Fault fault : {Fault::loses_the_end, Fault::flips_a_bit}) {
    for (int64_t call = 1; call <= 3; ++call) {
      MapStorage storage;
      CheckpointFolder sound(storage);
      REQUIRE(save(sound, 10, 2).ok());
      FaultyStorage faulty(storage, call, fault);
      CheckpointFolder folder(faulty);
      REQUIRE(save(folder, 20, 2).ok());
      CHECK(newest_intact(sound) == 10);
    }
  }
}

TEST_CASE("whichever call fails while a checkpoint is looked for, an older one is taken, or it is said that none can be") {
  MapStorage storage;
  CheckpointFolder sound(storage);
  REQUIRE(save(sound, 10, 2).ok());
  REQUIRE(save(sound, 20, 2).ok());
  // 1: the list; 2 to 4: the newer one's manifest and files.
  FaultyStorage unlisted(storage, 1, Fault::fails);
  CHECK_THAT(CheckpointFolder(unlisted).steps().error().message, Catch::Contains("the disk has no room"));
  for (const Fault fault : {Fault::loses_the_end, Fault::flips_a_bit}) {
    for (int64_t call = 2; call <= 4; ++call) {
      FaultyStorage faulty(storage, call, fault);
      CheckpointFolder folder(faulty);
      INFO(call);
      CHECK(newest_intact(folder) == 10);
    }
  }
}

TEST_CASE("a bit that flips anywhere in any file, or a file cut anywhere, is never read as a checkpoint") {
  MapStorage storage;
  CheckpointFolder folder(storage);
  REQUIRE(save(folder, 10, 2).ok());
  REQUIRE(save(folder, 20, 2).ok());
  const auto whole = storage.files;
  int harmless = 0;
  for (const auto& [name, contents] : whole) {
    if (!name.starts_with("step-000020")) continue;
    for (size_t at = 0; at < contents.size(); ++at) {
      INFO(name << " " << at);
      storage.files[name][at] ^= std::byte{static_cast<unsigned char>(1U << (at % 8))};
      // A blank of the manifest's text may become another one.
      const auto flipped = newest_intact(folder);
      CHECK((flipped == 10 || (flipped == 20 && name.ends_with(kManifestFile))));
      harmless += flipped == 20 ? 1 : 0;
      storage.files[name] = contents;
      storage.files[name].resize(at);
      // A line's end behind the manifest may go.
      CHECK((newest_intact(folder) == 10 || (name.ends_with(kManifestFile) && at + 1 == contents.size())));
      storage.files[name] = contents;
    }
  }
  CHECK(harmless < 10);
  CHECK(newest_intact(folder) == 20);
}

}  // namespace xdc
