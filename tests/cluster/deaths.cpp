// Does every launcher end soon, with the same cause, when a rank or a launcher anywhere is killed or asked to end?
#include <fmt/format.h>
#include <signal.h>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/cluster/launchers.hpp"

namespace xdc::cluster {
namespace {

using Catch::Contains;

TEST_CASE("a rank that is killed ends the run at every launcher, each naming it") {
  for (const auto* where : {"beijing", "guangzhou"}) {
    Endless run;
    ::kill(run.of(where).ranks().back(), SIGKILL);
    for (const std::string& datacenter : run.site.datacenters()) {
      auto& program = run.of(datacenter);
      const auto exit = program.wait(kSoon);
      INFO(datacenter << ": " << program.err());
      REQUIRE(exit);
      CHECK(exit->code == 3);
      CHECK_THAT(program.err(), Contains(fmt::format("{} rank", where)) && Contains("was killed by signal 9"));
    }
    CHECK(run.all_ranks_gone(kSoon));
  }
}

TEST_CASE("a launcher that is killed takes its ranks with it, and the others end and name it") {
  for (const auto* where : {"beijing", "guangzhou"}) {  // beijing's keeps the store
    Endless run;
    run.of(where).send(SIGKILL);
    for (const std::string& datacenter : run.site.datacenters()) {
      auto& program = run.of(datacenter);
      const auto exit = program.wait(kSoon);
      INFO(datacenter << ": " << program.err());
      REQUIRE(exit);
      if (datacenter == where) {
        CHECK(exit->signal == SIGKILL);
        continue;
      }
      CHECK(exit->code == 3);
      CHECK_THAT(program.err(), Contains(where == std::string("beijing") ? "the launcher of beijing rank 0, which keeps the store, is gone"
                                                                         : "guangzhou rank 3 (started by process"));
    }
    CHECK(run.all_ranks_gone(kSoon));
  }
}

TEST_CASE("a launcher that is asked to end lets everybody finish the round, and all report the same steps") {
  for (const int signal : {SIGINT, SIGTERM}) {
    Endless run;
    run.of("shanghai").send(signal);
    std::vector<nlohmann::json> reports;
    for (const std::string& datacenter : run.site.datacenters()) {
      auto& program = run.of(datacenter);
      const auto exit = program.wait(kSoon);
      INFO(datacenter << ": " << program.err());
      REQUIRE(exit);
      CHECK(exit->code == 0);
      reports.push_back(nlohmann::json::parse(cli::read(run.site.json(datacenter))));
      CHECK_THAT(program.out(), Contains("a signal ended it after"));
    }
    CHECK(run.all_ranks_gone(kSoon));
    CHECK(reports[0]["variants"][0]["steps"].get<int>() >= 3);
    for (const auto& report : reports) {
      CHECK(report["variants"][0]["steps"] == reports[0]["variants"][0]["steps"]);
      CHECK(report["variants"][0]["parameters_digest"] == reports[0]["variants"][0]["parameters_digest"]);
    }
  }
}

TEST_CASE("a second signal ends every launcher at once, whoever is deaf") {
  Endless run;
  for (const pid_t rank : run.ranks) ::kill(rank, SIGSTOP);
  run.of("guangzhou").send(SIGINT);
  REQUIRE(cli::eventually(kSoon, [&] { return run.of("guangzhou").err().find("finish their round") != std::string::npos; }));
  run.of("guangzhou").send(SIGINT);
  for (const std::string& datacenter : run.site.datacenters()) {
    const auto exit = run.of(datacenter).wait(kLong);
    INFO(datacenter << ": " << run.of(datacenter).err());
    REQUIRE(exit);
    CHECK(exit->code == 3);
    CHECK_THAT(run.of(datacenter).err(), Contains("killed at once"));
  }
  CHECK(run.all_ranks_gone(kSoon));
}

TEST_CASE("a signal before all launchers have come ends the start at all that have") {
  Site site;
  auto beijing = site.start_datacenter("beijing", {"--variant", "ring"});
  auto shanghai = site.start_datacenter("shanghai", {"--variant", "ring"});
  REQUIRE(cli::eventually(kSoon, [&] {
    return shanghai->err().find("processes here") != std::string::npos && beijing->err().find("processes here") != std::string::npos;
  }));
  beijing->send(SIGTERM);
  for (auto* program : {beijing.get(), shanghai.get()}) {
    const auto exit = program->wait(kSoon);
    INFO(program->err());
    REQUIRE(exit);
    CHECK(exit->code == 3);
    CHECK_THAT(program->err(), Contains("ended by signal 15"));
  }
}

}  // namespace
}  // namespace xdc::cluster
