// Does xdc-run --doctor find what would keep a run from starting, before it is started?
#include <fmt/format.h>
#include <signal.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "tests/cluster/launchers.hpp"

namespace xdc::cluster {
namespace {

using Catch::Contains;

int examine(Site& site, const std::vector<std::string>& more, std::string& out) {
  std::vector<std::string> arguments{"--doctor", "--variant", "ring", "--port", fmt::format("{}", site.port())};
  arguments.insert(arguments.end(), more.begin(), more.end());
  auto program = site.start("doctor", arguments);
  const auto exit = program->wait(kLong);
  REQUIRE(exit);
  out = program->out() + program->err();
  return exit->code;
}

TEST_CASE("a machine that is fit is said to be, with its libraries, free ports and disk") {
  Site site;
  std::string out;
  CHECK(examine(site, {"--datacenter", "beijing", "--checkpoint", site.folder() + "/to/be/made"}, out) == 0);
  INFO(out);
  CHECK_THAT(out, Contains("gRPC: 1.") && Contains("oneDNN") && Contains("CUDA"));
  CHECK_THAT(out, Contains("beijing ranks 0-1 are started here") && Contains("3 of 3 that members and store listen at here are free"));
  CHECK_THAT(out, Contains("its machine answers") && Contains("1 MiB is on the disk after"));
  CHECK(out.find("error ") == std::string::npos);
  CHECK_THAT(out, Contains("disk of " + site.folder() + "/to/be/made: ") && Contains("up to 4 checkpoints of "));
  CHECK_FALSE(std::filesystem::exists(site.folder() + "/to"));
}

TEST_CASE("a folder for checkpoints that cannot be made, or not be written into, is found") {
  Site site;
  std::string out;
  std::ofstream(site.folder() + "/file") << "in the way";
  CHECK(examine(site, {"--datacenter", "beijing", "--checkpoint", site.folder() + "/file/saved"}, out) == 3);
  CHECK_THAT(out, Contains("error    disk of " + site.folder() + "/file/saved: ") && Contains("/file is no folder"));
  CHECK(examine(site, {"--datacenter", "beijing", "--checkpoint", "/proc/saved"}, out) == 3);
  CHECK_THAT(out, Contains("error    disk of /proc/saved: ") && Contains("no file can be made"));
  // Without one there is nothing to examine, and that is said.
  CHECK(examine(site, {"--datacenter", "beijing"}, out) == 0);
  CHECK_THAT(out, Contains("none are written; give --checkpoint DIR"));
}

TEST_CASE("beside a run that goes on, the doctor finds the taken port, the peers, the store and its clock") {
  Endless run;
  std::string out;
  CHECK(examine(run.site, {"--datacenter", "guangzhou"}, out) == 3);
  INFO(out);
  CHECK_THAT(out,
             Contains(fmt::format("error    127.0.3.1:{}: port {} of 127.0.3.1 is taken by process", run.site.port(), run.site.port())));
  CHECK_THAT(out, Contains(fmt::format("ok       store 127.0.1.1:{}: answers", run.site.port() - 1)));
  CHECK_THAT(out, Contains("ok       clock: 0.") && Contains("peer 127.0.2.1") && Contains("answers, in "));
}

TEST_CASE("an address that is another machine's, certificates that are not there and a wrong share are found") {
  Site site;
  std::string out;
  CHECK(examine(site, {"--datacenter", "guangzhou", "--hosts", "guangzhou=192.0.2.1", "--insecure"}, out) == 3);
  CHECK_THAT(out, Contains("192.0.2.1 is no address of this machine"));
  CHECK(examine(site, {"--datacenter", "guangzhou", "--tls", site.folder() + "/none"}, out) == 3);
  CHECK_THAT(out, Contains("error    certificate launcher.guangzhou") && Contains("error    certificate rank3.guangzhou"));
  CHECK(examine(site, {"--datacenter", "nowhere"}, out) == 2);
  CHECK_THAT(out, Contains("there is no datacenter \"nowhere\""));
}

}  // namespace
}  // namespace xdc::cluster
