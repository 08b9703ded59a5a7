// Does training go on, with the same bits, whichever call of a rank's storage fails, and is that said?
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "core/checkpoint/folder.hpp"
#include "core/math/numerics.hpp"
#include "core/rank_main/rank_main.hpp"
#include "core/report/report.hpp"
#include "core/validate/validate.hpp"
#include "tests/contract/world.hpp"
#include "tests/unit/checkpoint/storages.hpp"

namespace xdc {
namespace {

using Fault = FaultyStorage::Fault;

constexpr const char* kScenario = R"(topology = ")" XDC_SOURCE_DIR R"(/topologies/two_offices.toml"
seed = 5
[model]
kind = "mlp"
[data]
source = "generated"
train_samples = 300
test_samples = 50
height = 8
width = 8
classes = 10
[train]
batch_per_rank = 16
optimizer = { kind = "adam", lr = 1e-3 }
stop = { steps = 8 }
[checkpoint]
every = 2
keep = 1
best = "loss"
[[variant]]
name = "tree"
strategy = { kind = "hierarchical_allreduce" }
codec = { wan = { kind = "int8", error_feedback = true } }
)";

RunSpec read_spec() {
  const auto path = std::filesystem::temp_directory_path() / ("xdc-faults-" + std::to_string(::getpid()) + ".toml");
  std::ofstream(path) << kScenario;
  Diagnostics diagnostics;
  const auto scenario = read_scenario(path.native(), {}, diagnostics);
  std::filesystem::remove(path);
  REQUIRE(scenario);
  auto specs = validate(*scenario, diagnostics);
  REQUIRE(specs.size() == 1);
  specs.front().keeps_checkpoints = true;
  return specs.front();
}

struct Sound {
  std::string digest;
  std::vector<int64_t> calls;  // of each member's storage
};

// A run with storages of its own, the member's failing at this call. What the first rank reports of it is held against a sound run's;
// without one, what a sound run is comes back as notes.
std::vector<std::string> train(const RunSpec& spec, MemberId member, int64_t call, const Sound* sound) {
  return contract::world().run({spec.topology, spec.cluster()}, [&](Env& env, MemberId self) {
    MapStorage files;
    FaultyStorage storage(files, self == member ? call : 0, Fault::fails);
    Env own{env.clock, env.lanes, env.fabric, env.device, env.store, storage, env.trace, env.stop};
    XDC_EXPECT_OK(rank_main(own, spec, self));
    if (sound == nullptr) contract::note("calls " + std::to_string(self) + " " + std::to_string(storage.calls()));
    if (self != 0) return;
    const auto stored = env.store.get(report_key(0), env.clock.now() + seconds(60));
    XDC_REQUIRE(stored.ok() && stored.value());
    const auto report = member_report_from_json(stored.value()->value);
    XDC_REQUIRE(report.ok());
    if (sound == nullptr) return contract::note("digest " + report.value().parameters_digest);
    XDC_EXPECT(report.value().parameters_digest == sound->digest);
    // Four are due. One may not have been written, which is said; what could not be removed is said too.
    XDC_EXPECT(report.value().checkpoints_written + report.value().checkpoints_failed == 4);
    XDC_EXPECT(report.value().checkpoints_failed <= 1);
    int said = 0;
    for (const auto& note : report.value().notes)
      said += note.find("could not be written, and training goes on without it") != std::string::npos;
    XDC_EXPECT(said == report.value().checkpoints_failed);
    CheckpointFolder folder(files);
    const auto steps = folder.steps();
    XDC_REQUIRE(steps.ok() && !steps.value().empty());
    XDC_EXPECT(steps.value().front() >= 6);
    XDC_EXPECT(folder.manifest(steps.value().front()).ok());
    if (report.value().checkpoints_failed == 1) contract::note("one failed");
  });
}

Sound train_soundly(const RunSpec& spec) {
  Sound sound{"", std::vector<int64_t>(spec.cluster().members.size())};
  for (const auto& note : train(spec, -1, 0, nullptr)) {
    INFO(note);
    if (note.starts_with("digest ")) {
      sound.digest = note.substr(7);
    } else {
      REQUIRE(note.starts_with("calls "));
      sound.calls.at(static_cast<size_t>(note[6] - '0')) = std::stoll(note.substr(8));
    }
  }
  REQUIRE(!sound.digest.empty());
  return sound;
}

}  // namespace

TEST_CASE("whichever call of a storage fails, training goes on to the same bits and says so") {
  REQUIRE(pin_numerics(CpuNumerics::portable).ok());
  const RunSpec spec = read_spec();
  const Sound sound = train_soundly(spec);
  for (const MemberId member : {0, 2}) {
    int failed = 0;
    REQUIRE(sound.calls.at(static_cast<size_t>(member)) >= 10);
    for (int64_t call = 1; call <= sound.calls.at(static_cast<size_t>(member)); ++call) {
      for (const auto& note : train(spec, member, call, &sound)) {
        INFO("call " << call << " of member " << member << ": " << note);
        CHECK(note == "one failed");
        ++failed;
      }
    }
    // A put each of its own file; the first rank has three more in each checkpoint.
    CHECK(failed == (member == 0 ? 16 : 4));
  }
}

}  // namespace xdc
