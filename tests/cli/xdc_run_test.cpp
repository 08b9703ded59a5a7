// Does xdc-run behave as its help says, with good input and with bad, and when something dies?
#include <fmt/format.h>
#include <signal.h>
#include <stdlib.h>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/cli/xdc_run_program.hpp"

namespace xdc::cli {

namespace {

const std::string kQuickstart = XDC_SOURCE_DIR "/scenarios/quickstart.toml";
// Generous: test machines are busy, and stand still now and then. The run would take hours.
constexpr double kLong = 60;
constexpr double kSoon = 20;

std::vector<std::string> quickstart(std::vector<std::string> more) {
  std::vector<std::string> arguments{kQuickstart, "--variant", "ring"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

// A run that would take hours, once all its ranks train.
struct Endless {
  Endless() : program(folder, quickstart({"--set", "train.stop={ steps = 100000000 }", "--log-dir", folder.file("logs")})) {
    INFO(program.err());
    REQUIRE(eventually(kLong, [this] { return read(folder.file("logs/office-0.events.jsonl")).find("\"step\":3") != std::string::npos; }));
    ranks = program.ranks();
    REQUIRE(ranks.size() == 3);
  }
  bool all_ranks_gone(double seconds) const {
    return eventually(seconds, [this] { return std::none_of(ranks.begin(), ranks.end(), is_alive); });
  }

  Folder folder;
  Program program;
  std::vector<pid_t> ranks;
};

Exit run(const Folder& folder, const std::vector<std::string>& arguments, std::string* out, std::string* err) {
  Program program(folder, arguments);
  const auto exit = program.wait(kLong);
  REQUIRE(exit);
  *out = program.out();
  *err = program.err();
  return *exit;
}

}  // namespace

TEST_CASE("xdc-run says how it is used and which version it is", "[cli]") {
  const Folder folder;
  std::string out, err;
  REQUIRE(run(folder, {"--help"}, &out, &err).code == 0);
  for (const auto* option : {"SCENARIO", "--variant", "--set", "--json", "--seed", "--device", "--validate", "--log-dir", "Exit codes"}) {
    REQUIRE(out.find(option) != std::string::npos);
  }
  REQUIRE(out.find("--rank-process") == std::string::npos);
  REQUIRE(run(folder, {"--version"}, &out, &err).code == 0);
  REQUIRE(out.starts_with("xdc-run 0."));
}

TEST_CASE("xdc-run refuses bad input with exit code 2 and says what is wrong", "[cli]") {
  const Folder folder;
  std::string out, err;
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases{
      {{}, "which scenario"},
      {{"no_such.toml"}, "no_such.toml"},
      {{kQuickstart, "--nonsense"}, "nonsense"},
      {{kQuickstart, "--variant", "rnig"}, "did you mean \"ring\""},
      {{kQuickstart, "--set", "train.stopp=1"}, "stopp"},
      {{kQuickstart, "--device", "abacus"}, "abacus"},
      {{kQuickstart, "--device", "cuda"}, "--device cpu"},
      {{kQuickstart, "--json", folder.file("no/such/folder.json")}, "folder.json"},
      {{kQuickstart, "--log-dir", "/proc/no"}, "--log-dir"},
      {{kQuickstart, "--rank-process", "{}"}, "launcher's own"},
  };
  for (const auto& [arguments, message] : cases) {
    const Exit exit = run(folder, arguments, &out, &err);
    INFO(fmt::format("{}\n{}", fmt::join(arguments, " "), err));
    REQUIRE(exit.code == 2);
    REQUIRE(err.find(message) != std::string::npos);
    REQUIRE(out.empty());
  }
}

TEST_CASE("xdc-run on a topology of GPUs offers the processor instead", "[cli]") {
  const Folder folder;
  std::string out, err;
  const Exit exit = run(folder,
                        {kQuickstart, "--set", "topology=" XDC_SOURCE_DIR "/topologies/two_dc_a100.toml", "--set",
                         "variant[0].strategy={ kind = \"ring_allreduce\" }"},
                        &out, &err);
  INFO(err);
  REQUIRE(exit.code == 2);
  REQUIRE(err.find("--device cpu") != std::string::npos);
}

TEST_CASE("xdc-run --validate starts nothing", "[cli]") {
  const Folder folder;
  std::string out, err;
  REQUIRE(run(folder, {kQuickstart, "--validate"}, &out, &err).code == 0);
  REQUIRE(out.find("hierarchical fp16") != std::string::npos);
}

TEST_CASE("xdc-run trains, prints a table, and with --json - the JSON alone on stdout", "[cli]") {
  const Folder folder;
  std::string out, err;
  const Exit exit = run(folder, quickstart({"--json", "-", "--seed", "3"}), &out, &err);
  INFO(err);
  REQUIRE(exit.code == 0);
  const auto report = nlohmann::json::parse(out);
  REQUIRE(report["schema"] == 1);
  REQUIRE(report["program"] == "xdc-run");
  REQUIRE(report["seed"] == 3);
  REQUIRE(report["variants"].size() == 1);
  REQUIRE(report["variants"][0]["parameters_digest"].get<std::string>().size() == 32);
  for (const auto& link : report["variants"][0]["links"]) {
    REQUIRE(link["payload_bytes_per_step"] == link["closed_form_bytes_per_step"]);
  }
  REQUIRE(err.find("accuracy") != std::string::npos);  // the table
  REQUIRE(err.find("device cpu") != std::string::npos);
}

TEST_CASE("on a terminal alone xdc-run draws its step, its loss and its pace", "[cli]") {
  const Folder folder;
  const std::string command = fmt::format("{} {} --variant ring", XDC_RUN, kQuickstart);
  REQUIRE(::system(fmt::format("script -qec '{}' {} > /dev/null", command, folder.file("typescript")).c_str()) == 0);
  const std::string drawn = read(folder.file("typescript"));
  CHECK(drawn.find("ring  step 126/126  loss 0.") != std::string::npos);
  CHECK(drawn.find(" samples/s") != std::string::npos);
  std::string out, err;
  REQUIRE(run(folder, quickstart({}), &out, &err).code == 0);
  CHECK(err.find("samples/s") == std::string::npos);
  CHECK(err.find('\r') == std::string::npos);
}

TEST_CASE("xdc-run sends the trained model's own bytes, and says that a cost profile is not charged", "[cli]") {
  const Folder folder;
  std::string out, err;
  const std::vector<std::string> few{"--json", "-", "--set", "train.stop={ steps = 4 }", "--set", "expect={}"};
  auto profiled = few;
  profiled.insert(profiled.end(), {"--set", "model.cost_profile=resnet50"});
  REQUIRE(run(folder, quickstart(few), &out, &err).code == 0);
  const auto plain = nlohmann::json::parse(out);
  const Exit exit = run(folder, quickstart(profiled), &out, &err);
  INFO(err);
  REQUIRE(exit.code == 0);
  const auto report = nlohmann::json::parse(out);
  CHECK(err.find("the cost profile resnet50 is not charged") != std::string::npos);
  CHECK(err.find("cost profile resnet50 not charged") != std::string::npos);  // the table
  CHECK(report["cost_profile"] == "resnet50");
  CHECK(report["cost_profile_charged"] == false);
  for (size_t l = 0; l < report["variants"][0]["links"].size(); ++l) {
    const auto& link = report["variants"][0]["links"][l];
    CHECK(link["payload_bytes_per_step"] == link["closed_form_bytes_per_step"]);
    CHECK(link["payload_bytes_per_step"].get<double>() <=
          plain["variants"][0]["links"][l]["payload_bytes_per_step"].get<double>() * 1.01 + 1024);
  }
}

TEST_CASE("ranks run under another command where that was asked for, and train the same", "[cli]") {
  const Folder folder;
  std::string out, err;
  const auto digest = [&](const std::vector<std::string>& more) {
    auto words = quickstart({"--json", "-", "--set", "train.stop={ steps = 3 }"});
    words.insert(words.end(), more.begin(), more.end());
    REQUIRE(run(folder, words, &out, &err).code == 0);
    return nlohmann::json::parse(out)["variants"][0]["parameters_digest"].get<std::string>();
  };
  const std::string bare = digest({});
  CHECK(digest({"--under", fmt::format("sh -c 'echo \"$0\" >> {}; exec \"$0\" \"$@\"'", folder.file("started"))}) == bare);
  const std::string started = read(folder.file("started"));
  CHECK(std::count(started.begin(), started.end(), '\n') == 3);
  CHECK(started.find("xdc-run") != std::string::npos);

  REQUIRE(run(folder, quickstart({"--under", "no-such-command"}), &out, &err).code == 3);
  CHECK_THAT(err, Catch::Contains("no-such-command"));
  REQUIRE(run(folder, quickstart({"--under", "true"}), &out, &err).code == 3);
  CHECK_THAT(err, Catch::Contains("does \"true\" run the command that follows it?"));
}

TEST_CASE("an expectation that is not met is exit code 1", "[cli]") {
  const Folder folder;
  std::string out, err;
  REQUIRE(run(folder, quickstart({"--set", "expect.accuracy_at_least=1.0", "--set", "train.stop={ steps = 2 }"}), &out, &err).code == 1);
}

TEST_CASE("a killed rank ends the run with its name", "[cli]") {
  Endless run;
  ::kill(run.ranks[1], SIGKILL);
  const auto exit = run.program.wait(kSoon);
  INFO(run.program.err());
  REQUIRE(exit);
  REQUIRE(exit->code == 3);
  const std::string err = run.program.err();
  const size_t named = err.find("rank 1 was killed by signal 9");
  const bool is_named = named != std::string::npos || err.find("rank 0 was killed by signal 9") != std::string::npos ||
                        err.find("rank 2 was killed by signal 9") != std::string::npos;
  REQUIRE(is_named);
  REQUIRE(run.all_ranks_gone(kSoon));
}

TEST_CASE("ranks do not outlive a killed launcher", "[cli]") {
  Endless run;
  run.program.send(SIGKILL);
  REQUIRE(run.all_ranks_gone(kSoon));
  REQUIRE(run.program.wait(kSoon)->signal == SIGKILL);
}

TEST_CASE("Ctrl-C and SIGTERM let ranks finish their round, and the report covers the steps made", "[cli]") {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    Endless run;
    run.program.send(signal);
    const auto exit = run.program.wait(kSoon);
    INFO(run.program.err());
    REQUIRE(exit);
    REQUIRE(exit->code == 0);
    REQUIRE(run.all_ranks_gone(kSoon));
    REQUIRE(run.program.err().find("ranks finish their round") != std::string::npos);
    REQUIRE(run.program.out().find("a signal ended it after") != std::string::npos);
  }
}

TEST_CASE("a Ctrl-C that the terminal sends to everyone does the same", "[cli]") {
  Endless run;
  for (const pid_t rank : run.ranks) {
    ::kill(rank, SIGINT);
  }
  run.program.send(SIGINT);
  const auto exit = run.program.wait(kSoon);
  REQUIRE(exit);
  REQUIRE(exit->code == 0);
  REQUIRE(run.all_ranks_gone(kSoon));
}

TEST_CASE("a second Ctrl-C does not wait for ranks that do not listen", "[cli]") {
  Endless run;
  for (const pid_t rank : run.ranks) {
    ::kill(rank, SIGSTOP);  // deaf to SIGTERM
  }
  run.program.send(SIGINT);
  run.program.send(SIGTERM);  // another, since two of one kind may arrive as one
  const auto exit = run.program.wait(kLong);
  REQUIRE(exit);
  REQUIRE(exit->code == 3);
  REQUIRE(run.program.err().find("killed at once") != std::string::npos);
  REQUIRE(run.all_ranks_gone(kSoon));
}

TEST_CASE("starts and stops leave no process and no file", "[cli]") {
  const Folder folder;
  for (int i = 0; i < 20; ++i) {
    Program program(folder, quickstart({"--set", "train.stop={ steps = 100000000 }"}));
    // Stopped at any moment of its life, start included.
    std::this_thread::sleep_for(std::chrono::milliseconds(40 * i));
    const auto ranks = program.ranks();
    program.send(SIGTERM);
    REQUIRE(program.wait(kLong));
    REQUIRE(eventually(kSoon, [&ranks] { return std::none_of(ranks.begin(), ranks.end(), is_alive); }));
  }
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path())) {
    files.push_back(entry.path().filename());
  }
  std::sort(files.begin(), files.end());
  REQUIRE(files == std::vector<std::string>{"stderr", "stdout"});
}

TEST_CASE("a rank whose scenario is another than the launcher's refuses to run", "[cli]") {
  const Folder folder;
  std::string out, err;
  const std::string rank = R"({"member":0,"store":"127.0.0.1:1","origin_ns":0,"digest":"another","log_directory":"","run":"","prefix":"",)"
                           R"("listen":"127.0.0.1:0","tls_directory":"","keeper":"","writes_events":false})";
  const Exit exit = run(folder, quickstart({"--rank-process", rank}), &out, &err);
  REQUIRE(exit.code == 2);
  REQUIRE(err.find("has changed since the launcher read it") != std::string::npos);
}

}  // namespace xdc::cli
