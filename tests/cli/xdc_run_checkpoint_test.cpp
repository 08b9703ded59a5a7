// Does a run that was ended, killed or robbed of its files go on as if nothing had been? Digests are held against xdc-sim's.
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/cli/checkpoint_runs.hpp"

namespace xdc::cli {

namespace {

namespace fs = std::filesystem;

void flip_a_bit(const fs::path& file) {
  std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
  REQUIRE(stream.good());
  const auto at = static_cast<std::streamoff>(fs::file_size(file) / 2);
  stream.seekg(at);
  const char byte = static_cast<char>(stream.get() ^ 0x04);
  stream.seekp(at);
  stream.put(byte);
}

// Variant "tree int8", without an end.
struct Endless {
  explicit Endless(std::vector<std::string> more = {}) {
    write_scenario(folder);
    std::vector<std::string> arguments{
        folder.file("scenario.toml"), "--variant",    "tree int8",         "--set", steps(100'000'000), "--set",
        "train.eval_every=1000000",   "--checkpoint", folder.file("saved")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    program.emplace(folder, arguments);
  }
  std::string directory() const { return folder.file("saved/tree-int8"); }
  bool reaches(int64_t step) const {
    return eventually(kLong, [&] {
      const auto all = saved_steps(directory());
      return !all.empty() && all.back() >= step;
    });
  }

  Folder folder;
  std::optional<Program> program;
};

}  // namespace

TEST_CASE("what is resumed ends with the bits of a run that was never interrupted, in either world", "[cli]") {
  const Folder folder;
  write_scenario(folder);
  const auto half = run(folder, {"--checkpoint", folder.file("saved"), "--set", steps(12)});
  INFO(half.err);
  REQUIRE(half.code == 0);
  const auto rest = run(folder, {"--checkpoint", folder.file("saved"), "--resume", "--json", folder.file("run.json")});
  INFO(rest.err);
  REQUIRE(rest.code == 0);
  const auto resumed = digests_in(folder.file("run.json"));
  REQUIRE(resumed.size() == 4);
  CHECK(resumed == simulated(folder, {}));
  const auto report = report_in(folder.file("run.json"));
  for (const auto& variant : report.at("variants")) CHECK(variant.at("resumed_at") == 12);
}

TEST_CASE("what is resumed at its stop makes no step, and says so", "[cli]") {
  const Folder folder;
  write_scenario(folder);
  const std::vector<std::string> words{"--variant", "momentum", "--checkpoint", folder.file("saved"), "--set", steps(6)};
  REQUIRE(run(folder, words).code == 0);
  auto again = words;
  again.emplace_back("--resume");
  const auto ended = run(folder, again);
  INFO(ended.err);
  CHECK(ended.code == 0);
  CHECK_THAT(ended.out, Catch::Contains("momentum: resumed at step 6, where train.stop had been reached: no step was made"));
}

TEST_CASE("a damaged checkpoint is named, and the newest intact one is taken", "[cli]") {
  const Folder folder;
  write_scenario(folder);
  REQUIRE(run(folder, {"--variant", "tree int8", "--checkpoint", folder.file("saved"), "--set", steps(12)}).code == 0);
  const fs::path directory = folder.file("saved/tree-int8");
  REQUIRE(saved_steps(directory) == std::vector<int64_t>{4, 8, 12});
  // A bit in the newest, and the end of a file of the one before is gone.
  fs::path newest, before;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    const std::string path = entry.path();
    if (entry.path().extension() == ".safetensors" && path.find("12/") != std::string::npos) newest = entry.path();
    if (entry.path().extension() == ".safetensors" && path.find("08/") != std::string::npos) before = entry.path();
  }
  flip_a_bit(newest);
  fs::resize_file(before, fs::file_size(before) - 1);
  const auto rest =
      run(folder, {"--variant", "tree int8", "--checkpoint", folder.file("saved"), "--resume", "--json", folder.file("run.json")});
  INFO(rest.err);
  REQUIRE(rest.code == 0);
  CHECK(rest.err.find(newest.filename()) != std::string::npos);
  CHECK(rest.err.find(before.filename()) != std::string::npos);
  CHECK(report_in(folder.file("run.json")).at("variants")[0].at("resumed_at") == 4);
  CHECK(digests_in(folder.file("run.json")) == simulated(folder, {"--variant", "tree int8"}));
}

TEST_CASE("a run that is asked to end saves itself and is resumed where it was", "[cli]") {
  Endless run_on({"--json", "stopped.json"});
  REQUIRE(run_on.reaches(8));
  run_on.program->send(SIGTERM);
  const auto exit = run_on.program->wait(kLong);
  REQUIRE(exit);
  INFO(run_on.program->err());
  REQUIRE(exit->code == 0);
  const int64_t stopped = saved_steps(run_on.directory()).back();
  const auto rest = run(run_on.folder, {"--variant", "tree int8", "--set", steps(stopped + 5), "--set", "train.eval_every=1000000",
                                        "--checkpoint", run_on.folder.file("saved"), "--resume", "--json", run_on.folder.file("run.json")});
  INFO(rest.err);
  REQUIRE(rest.code == 0);
  CHECK(report_in(run_on.folder.file("run.json")).at("variants")[0].at("resumed_at") == stopped);
  CHECK(digests_in(run_on.folder.file("run.json")) == simulated(run_on.folder, {"--variant", "tree int8", "--set", steps(stopped + 5)}));
}

TEST_CASE("whenever a run is killed there is an intact checkpoint to go on from", "[cli]") {
  Endless run_on({"--set", "checkpoint.every=1"});
  int64_t reached = 3;
  for (int kill = 0; kill < 4; ++kill) {
    REQUIRE(run_on.reaches(reached));
    // Wherever its ranks are in their saving.
    ::usleep(1000 * (1 + 7 * static_cast<unsigned>(kill)));
    run_on.program->send(SIGKILL);
    REQUIRE(run_on.program->wait(kLong));
    reached = saved_steps(run_on.directory()).back() + 3;
    run_on.program.emplace(
        run_on.folder, std::vector<std::string>{run_on.folder.file("scenario.toml"), "--variant", "tree int8", "--set", steps(100'000'000),
                                                "--set", "train.eval_every=1000000", "--set", "checkpoint.every=1", "--checkpoint",
                                                run_on.folder.file("saved"), "--resume"});
  }
  REQUIRE(run_on.reaches(reached));
  run_on.program->send(SIGKILL);
  REQUIRE(run_on.program->wait(kLong));
  const int64_t last = saved_steps(run_on.directory()).back() + 4;
  const auto rest = run(run_on.folder, {"--variant", "tree int8", "--set", steps(last), "--set", "train.eval_every=1000000", "--checkpoint",
                                        run_on.folder.file("saved"), "--resume", "--json", run_on.folder.file("run.json")});
  INFO(rest.err);
  REQUIRE(rest.code == 0);
  CHECK(digests_in(run_on.folder.file("run.json")) == simulated(run_on.folder, {"--variant", "tree int8", "--set", steps(last)}));
}

TEST_CASE("training goes on when its checkpoints cannot be written any more, and says so", "[cli]") {
  Endless run_on({"--json", "run.json"});
  REQUIRE(run_on.reaches(8));
  // As if the disk had gone: a file stands where the directory was.
  fs::rename(run_on.folder.file("saved"), run_on.folder.file("elsewhere"));
  std::ofstream(run_on.folder.file("saved")) << "no directory";
  REQUIRE(eventually(kLong, [&] { return run_on.program->err().find("training goes on") != std::string::npos; }));
  run_on.program->send(SIGTERM);
  const auto exit = run_on.program->wait(kLong);
  REQUIRE(exit);
  INFO(run_on.program->err());
  CHECK(exit->code == 0);
  CHECK(report_in(run_on.folder.file("run.json")).at("variants")[0].at("checkpoints").at("failed") >= 1);
}

TEST_CASE("a checkpoint is scored without ranks, as the run that wrote it scored itself", "[cli]") {
  const Folder folder;
  write_scenario(folder);
  REQUIRE(run(folder, {"--variant", "momentum", "--checkpoint", folder.file("saved"), "--json", folder.file("run.json")}).code == 0);
  const auto scored = run(folder, {"--variant", "momentum", "--evaluate", folder.file("saved/momentum")});
  INFO(scored.err);
  REQUIRE(scored.code == 0);
  const double accuracy = report_in(folder.file("run.json")).at("variants")[0].at("accuracy");
  CHECK(scored.out.find("step 24") != std::string::npos);
  CHECK(scored.out.find(fmt::format("accuracy {:.2f} %", 100 * accuracy)) != std::string::npos);
  CHECK(run(folder, {"--variant", "momentum", "--evaluate", folder.file("nowhere")}).code == 2);
}

TEST_CASE("what cannot be resumed is refused with the reason, before anything starts", "[cli]") {
  const Folder folder;
  write_scenario(folder);
  const auto refused = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"--variant", "momentum"});
    const auto ended = run(folder, std::move(arguments));
    CHECK(ended.code == 2);
    return ended.err;
  };
  using Catch::Contains;
  CHECK_THAT(refused({"--resume"}), Contains("--checkpoint DIR"));
  CHECK_THAT(refused({"--checkpoint", folder.file("saved"), "--resume"}), Contains("there is no checkpoint"));
  REQUIRE(run(folder, {"--variant", "momentum", "--checkpoint", folder.file("saved"), "--set", steps(4)}).code == 0);
  CHECK_THAT(refused({"--checkpoint", folder.file("saved")}), Contains("--resume"));
  CHECK_THAT(refused({"--checkpoint", folder.file("saved"), "--resume", "--seed", "6"}), Contains("seed"));
  CHECK_THAT(refused({"--checkpoint", folder.file("saved"), "--resume", "--set", "model.kind=linear"}), Contains("model"));
}

TEST_CASE("a place where no checkpoint can be saved is refused before anything starts", "[cli]") {
  const Folder folder;
  write_scenario(folder);
  const std::string file = folder.file("file");
  std::ofstream(file) << "no directory";
  for (const auto& directory : {file, folder.file("file/below")}) {
    for (const bool resume : {false, true}) {
      std::vector<std::string> arguments{"--variant", "momentum", "--checkpoint", directory};
      if (resume) arguments.emplace_back("--resume");
      const auto ended = run(folder, arguments);
      CHECK(ended.code == 2);
      CHECK_THAT(ended.err, Catch::Contains("--checkpoint: " + directory) && Catch::Contains(file + " is not a directory"));
    }
  }
  if (::geteuid() == 0) return;  // may write anywhere
  fs::create_directory(folder.file("shut"));
  fs::permissions(folder.file("shut"), fs::perms::owner_read | fs::perms::owner_exec);
  const auto ended = run(folder, {"--variant", "momentum", "--checkpoint", folder.file("shut")});
  CHECK(ended.code == 2);
  CHECK_THAT(ended.err, Catch::Contains(folder.file("shut") + ": Permission denied"));
}

TEST_CASE("what an empty --checkpoint, or --evaluate with a report, asks for is refused, not left out", "[cli]") {
  const Folder folder;
  write_scenario(folder);
  const auto refused = [&](const std::vector<std::string>& arguments) {
    const auto ended = run(folder, arguments);
    CHECK(ended.code == 2);
    return ended.err;
  };
  for (const std::string option : {"--checkpoint", "--evaluate", "--metrics", "--under"}) {
    CHECK_THAT(refused({option, ""}), Catch::Contains(option + ": is empty"));
  }
  for (const std::string option : {"--json", "--events", "--metrics"}) {
    const auto err = refused({"--evaluate", folder.file("saved"), option, "9"});
    CHECK_THAT(err, Catch::Contains(option) && Catch::Contains("--evaluate"));
  }
}

}  // namespace xdc::cli
