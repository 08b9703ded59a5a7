// Do launchers that were started one a datacenter, or one a rank, make the run that xdc-sim foretells, or say why not?
#include <fmt/format.h>
#include <signal.h>

#include <catch2/catch.hpp>
#include <fstream>

#include "tests/cluster/launchers.hpp"

namespace xdc::cluster {
namespace {

using Catch::Contains;
using Programs = std::vector<std::unique_ptr<cli::Program>>;

void all_end_with(Programs& programs, int code) {
  for (auto& program : programs) {
    const auto exit = program->wait(kLong);
    INFO(program->err());
    REQUIRE(exit);
    CHECK(exit->code == code);
  }
}

TEST_CASE("three launchers, one a datacenter, train every variant to the simulator's digest") {
  Site site;
  Programs programs;
  // The one that keeps the store comes last: the others wait for it.
  for (const auto* name : {"guangzhou", "shanghai", "beijing"}) programs.push_back(site.start_datacenter(name));
  all_end_with(programs, 0);
  for (int variant = 0; variant < 3; ++variant) {
    const auto* name = variant == 0 ? "ring" : variant == 1 ? "tree" : "ps";
    const std::string expected = site.simulated(name);
    for (const std::string& datacenter : site.datacenters()) {
      INFO(name << " " << datacenter);
      CHECK(site.digest_of(datacenter, variant) == expected);
    }
  }
  for (const auto& program : programs) {
    CHECK_THAT(program->out(), Contains("ring") && Contains("tree") && Contains("accuracy"));
  }
}

std::string endpoints(const Site& site) {
  const int port = site.port();
  return fmt::format("127.0.1.1:{0},127.0.1.1:{1},127.0.2.1:{0},127.0.3.1:{0}", port, port + 1);
}

TEST_CASE("one process a rank, started through PADDLE_ names alone, trains to the simulator's digest") {
  Site site;
  Programs programs;
  const std::string list = endpoints(site);
  for (int rank = 0; rank < 4; ++rank) {
    const std::string own = fmt::format("127.0.{}.1:{}", rank < 2 ? 1 : rank, site.port() + (rank == 1 ? 1 : 0));
    programs.push_back(site.start(fmt::format("rank{}", rank), {"--variant", "tree"},
                                  {fmt::format("PADDLE_TRAINER_ID={}", rank), "PADDLE_TRAINERS_NUM=4", "PADDLE_TRAINER_ENDPOINTS=" + list,
                                   "PADDLE_CURRENT_ENDPOINT=" + own, "PADDLE_NNODES=3"}));
  }
  all_end_with(programs, 0);
  const std::string expected = site.simulated("tree");
  for (int rank = 0; rank < 4; ++rank) CHECK(site.digest_of(fmt::format("rank{}", rank)) == expected);
}

TEST_CASE("trainers and a parameter server, started through PADDLE_ names alone, train to the simulator's digest") {
  Site site;
  Programs programs;
  const std::string servers = fmt::format("PADDLE_PSERVERS_IP_PORT_LIST=127.0.1.1:{}", site.port());
  const std::string master = fmt::format("PADDLE_MASTER=127.0.1.1:{}", site.port() - 1);
  programs.push_back(site.start(
      "server", {"--variant", "ps"},
      {"TRAINING_ROLE=PSERVER", servers, master, "POD_IP=127.0.1.1", fmt::format("PADDLE_PORT={}", site.port()), "PADDLE_TRAINERS_NUM=4"}));
  for (int rank = 0; rank < 4; ++rank) {
    programs.push_back(site.start(fmt::format("rank{}", rank), {"--variant", "ps"},
                                  {"TRAINING_ROLE=TRAINER", servers, master, fmt::format("POD_IP=127.0.{}.1", rank < 2 ? 1 : rank),
                                   fmt::format("PADDLE_TRAINER_ID={}", rank), "PADDLE_TRAINERS_NUM=4"}));
  }
  all_end_with(programs, 0);
  CHECK(site.digest_of("server") == site.simulated("ps"));
}

TEST_CASE("a datacenter that does not come is named, by every launcher that did") {
  Site site;
  Programs programs;
  for (const auto* name : {"beijing", "shanghai"})
    programs.push_back(site.start_datacenter(name, {"--variant", "ring", "--start-timeout", "3 s"}));
  all_end_with(programs, 3);
  for (const auto& program : programs) CHECK_THAT(program->err(), Contains("guangzhou rank 3: no launcher has come within 3 s"));
}

TEST_CASE("without the launcher that keeps the store the others say where they looked for it") {
  Site site;
  auto program = site.start_datacenter("shanghai", {"--variant", "ring", "--start-timeout", "1 s"});
  const auto exit = program->wait(kLong);
  REQUIRE(exit);
  CHECK(exit->code == 3);
  CHECK_THAT(program->err(),
             Contains(fmt::format("nobody answers at 127.0.1.1:{}, where the launcher of beijing rank 0", site.port() - 1)));
}

TEST_CASE("a datacenter that is started twice is refused, and the run goes on without the second") {
  Endless run;
  auto second = run.site.start("second", {"--variant", "ring", "--set", "train.stop={ steps = 100000000 }", "--rank", "3", "--hosts",
                                          "guangzhou=127.0.3.9", "--port", fmt::format("{}", run.site.port())});
  const auto exit = second->wait(kLong);
  REQUIRE(exit);
  CHECK(exit->code == 3);
  CHECK_THAT(second->err(), Contains("guangzhou rank 3 was started twice") && Contains("the run goes on without this one"));
  for (const auto& program : run.programs) CHECK(program->ranks().size() >= 1);
}

TEST_CASE("a port that is taken is named, with its owner") {
  Endless run;
  auto second = run.site.start_datacenter("guangzhou", {"--variant", "ring"});
  const auto exit = second->wait(kLong);
  REQUIRE(exit);
  CHECK(exit->code == 3);
  CHECK_THAT(second->err(), Contains(fmt::format("port {} of 127.0.3.1 is taken by process", run.site.port())) && Contains("(xdc-run)"));
}

TEST_CASE("launchers whose scenario or numerics differ do not start, and each prints who differs in what") {
  for (const auto* difference : {"seed=6", "numerics=native"}) {
    Site site;
    Programs programs;
    programs.push_back(site.start_datacenter("beijing", {"--variant", "ring"}));
    programs.push_back(site.start_datacenter("shanghai", {"--variant", "ring", "--set", difference}));
    programs.push_back(site.start_datacenter("guangzhou", {"--variant", "ring"}));
    all_end_with(programs, 3);
    for (const auto& program : programs) {
      INFO(program->err());
      CHECK_THAT(program->err(), Contains("the launchers are not alike") && Contains("scenario: ") && Contains("  shanghai rank 2\n"));
      CHECK_THAT(program->err(), Contains("beijing ranks 0-1; guangzhou rank 3"));
      const bool numerics = std::string(difference).starts_with("numerics");
      CHECK((program->err().find("numerics: ") != std::string::npos) == numerics);
    }
  }
}

TEST_CASE("launchers that do not save alike do not start") {
  Site site;
  Programs programs;
  programs.push_back(site.start_datacenter("beijing", {"--variant", "ring"}));
  programs.push_back(site.start_datacenter("shanghai", {"--variant", "ring", "--checkpoint", "saved"}));
  programs.push_back(site.start_datacenter("guangzhou", {"--variant", "ring"}));
  all_end_with(programs, 3);
  for (const auto& program : programs) {
    INFO(program->err());
    CHECK_THAT(program->err(), Contains("checkpoints: ") && Contains("  shanghai rank 2\n"));
  }
}

TEST_CASE("launchers of which only some wait for the computations of a rehearsal do not start") {
  Site site;
  Programs programs;
  for (const std::string& name : site.datacenters()) {
    std::vector<std::string> more{"--variant", "ring", "--set", "payload=phantom"};
    if (name == "shanghai") more.emplace_back("--rehearse-without-waiting");
    programs.push_back(site.start_datacenter(name, more));
  }
  all_end_with(programs, 3);
  for (const auto& program : programs) {
    INFO(program->err());
    CHECK_THAT(program->err(), Contains("rehearsal: ") && Contains("without waiting") && Contains("  shanghai rank 2\n"));
  }
}

TEST_CASE("machines that save each on a disk of its own are resumed together, to the simulator's digest") {
  Site site;
  for (const bool resumed : {false, true}) {
    Programs programs;
    for (const std::string& name : site.datacenters()) {
      std::vector<std::string> more{"--checkpoint", "saved-" + name};
      if (resumed) {
        more.emplace_back("--resume");
      } else {
        more.insert(more.end(), {"--set", "train.stop={ steps = 3 }", "--set", "expect={}"});
      }
      programs.push_back(site.start_datacenter(name, more));
    }
    all_end_with(programs, 0);
  }
  for (int variant = 0; variant < 3; ++variant) {
    const auto* name = variant == 0 ? "ring" : variant == 1 ? "tree" : "ps";
    const std::string expected = site.simulated(name);
    for (const std::string& datacenter : site.datacenters()) {
      INFO(name << " " << datacenter);
      CHECK(site.digest_of(datacenter, variant) == expected);
    }
  }
}

TEST_CASE("a mismatch that can change results cannot be allowed, and one that is none is named") {
  Site site;
  for (const auto& [key, message] : {std::pair("build", "it can change results"), std::pair("procesor", "did you mean \"processor\"")}) {
    auto program = site.start_datacenter("beijing", {"--allow-mismatch", key});
    const auto exit = program->wait(kLong);
    REQUIRE(exit);
    CHECK(exit->code == 2);
    CHECK_THAT(program->err(), Contains(message));
  }
}

TEST_CASE("option --explain-env says who is started where, and from whom it knows") {
  Site site;
  auto program = site.start("explained", {"--explain-env", "--variant", "ps"}, {"XDC_DATACENTER=shanghai", "FLAGS_selected_gpus=1"});
  const auto exit = program->wait(kLong);
  REQUIRE(exit);
  CHECK(exit->code == 0);
  CHECK_THAT(program->out(), Contains("XDC_DATACENTER") && Contains("shanghai rank 2") && Contains("127.0.2.1:6170"));
  CHECK_THAT(program->out(), Contains("kept by the launcher of beijing rank 0") && Contains("not used: ranks train on processors"));
}

}  // namespace
}  // namespace xdc::cluster
