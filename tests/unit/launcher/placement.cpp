#include "exec/launcher/placement.hpp"

#include <catch2/catch.hpp>

namespace xdc {
namespace {

using Catch::Contains;

template <class T>
std::string message_of(const Result<T>& result) {
  return result.ok() ? std::string() : result.error().message;
}

// beijing: two nodes with two devices each (ranks 0-3); shanghai: one node with one (rank 4).
Topology topology(bool with_hosts, const std::string& tls = "") {
  Topology t;
  t.path = "two.toml";
  t.tls_directory = tls;
  DatacenterSpec beijing, shanghai;
  beijing.name = "beijing";
  beijing.nodes = 2;
  beijing.devices_per_node = 2;
  shanghai.name = "shanghai";
  if (with_hosts) {
    beijing.hosts = {"127.0.1.1", "127.0.1.2"};
    shanghai.hosts = {"127.0.2.1"};
  }
  t.datacenters = {beijing, shanghai};
  return t;
}

Result<Placement> try_place(const Variables& options, const Topology& t, int servers = 0, const Variables& variables = {}) {
  auto request = read_environment(options, variables);
  INFO(message_of(request));
  REQUIRE(request.ok());
  Cluster cluster = make_cluster(t);
  if (servers > 0) add_servers(cluster, t, 0, servers);
  return place(request.value(), t, cluster);
}
Placement good(const Variables& options, const Topology& t, int servers = 0, const Variables& variables = {}) {
  auto placement = try_place(options, t, servers, variables);
  INFO(message_of(placement));
  REQUIRE(placement.ok());
  return std::move(placement).value();
}
std::string bad(const Variables& options, const Topology& t, int servers = 0, const Variables& variables = {}) {
  const auto placement = try_place(options, t, servers, variables);
  REQUIRE_FALSE(placement.ok());
  return placement.error().message;
}

using Members = std::vector<MemberId>;

TEST_CASE("everyone here listens at free ports of the loopback, whatever hosts the topology names") {
  for (const bool hosts : {false, true}) {
    const auto p = good({}, topology(hosts));
    CHECK(p.everyone);
    CHECK(p.here == Members{0, 1, 2, 3, 4});
    CHECK(p.listen == std::vector<std::string>(5, "127.0.0.1:0"));
    CHECK(p.store == "127.0.0.1:0");
  }
  const auto p = good({{"--port", "7000"}}, topology(true));
  CHECK(p.listen[4] == "127.0.0.1:7004");
  CHECK(p.store == "127.0.0.1:6999");
}

TEST_CASE("ports are counted on each host, and the store stands below the first member") {
  const auto p = good({{"--datacenter", "shanghai"}}, topology(true), 2);
  CHECK_FALSE(p.everyone);
  CHECK(p.here == Members{4});
  CHECK(p.listen == std::vector<std::string>{"127.0.1.1:6170", "127.0.1.1:6171", "127.0.1.2:6170", "127.0.1.2:6171", "127.0.2.1:6170",
                                             "127.0.1.1:6172", "127.0.1.2:6172"});
  CHECK(p.store == "127.0.1.1:6169");
  CHECK_FALSE(p.keeps_store);
  CHECK(p.launcher == "launcher.shanghai");
  CHECK(p.keeper == "launcher.beijing");
}

TEST_CASE("a share is a datacenter, a node of it, or a member") {
  CHECK(good({{"--datacenter", "beijing"}}, topology(true), 2).here == Members{0, 1, 2, 3, 5, 6});
  CHECK(good({{"--datacenter", "beijing"}, {"--node", "1"}}, topology(true), 2).here == Members{2, 3, 6});
  CHECK(good({{"--rank", "3"}}, topology(true)).here == Members{3});
  CHECK(good({{"--rank", "server1"}}, topology(true), 2).here == Members{6});
  CHECK(good({{"--rank", "3"}, {"--datacenter", "beijing"}, {"--node", "1"}}, topology(true)).here == Members{3});
  CHECK(good({{"--rank", "0"}}, topology(true)).keeps_store);
}

TEST_CASE("a share that is none, or two that contradict each other, are named") {
  CHECK_THAT(bad({{"--datacenter", "bejing"}}, topology(true)), Contains("--datacenter") && Contains("did you mean \"beijing\""));
  CHECK_THAT(bad({{"--datacenter", "shanghai"}, {"--node", "1"}}, topology(true)), Contains("--node is 1, and shanghai has 1 node"));
  CHECK_THAT(bad({{"--rank", "5"}}, topology(true)), Contains("--rank says rank 5, and this run has 5, from 0"));
  CHECK_THAT(bad({{"--rank", "server0"}}, topology(true)), Contains("no parameter servers"));
  CHECK_THAT(bad({{"--rank", "4"}, {"--datacenter", "beijing"}}, topology(true)), Contains("--rank") && Contains("--datacenter"));
  CHECK_THAT(bad({{"--rank", "0"}, {"--datacenter", "beijing"}, {"--node", "1"}}, topology(true)), Contains("node 1 of beijing"));
  CHECK_THAT(bad({}, topology(true), 0, {{"XDC_RANK", "4"}, {"XDC_DATACENTER", "beijing"}}),
             Contains("XDC_RANK") && Contains("XDC_DATACENTER"));
}

TEST_CASE("hosts come from the topology, or in their place from --hosts") {
  CHECK_THAT(bad({{"--rank", "0"}}, topology(false)), Contains("where is beijing rank 0?") && Contains("where is shanghai rank 4?"));
  const auto p = good({{"--rank", "0"}, {"--hosts", "shanghai=127.0.9.9"}}, topology(true));
  CHECK(p.listen[4] == "127.0.9.9:6170");
  CHECK(p.listen[0] == "127.0.1.1:6170");
  CHECK_THAT(bad({{"--rank", "0"}, {"--hosts", "shanghia=127.0.9.9"}}, topology(true)), Contains("did you mean \"shanghai\""));
  CHECK_THAT(bad({{"--rank", "0"}, {"--hosts", "beijing=127.0.9.9"}}, topology(true)), Contains("has 1 for beijing, which has 2 nodes"));
}

TEST_CASE("two members never share a port, nor does the store take one's") {
  const auto p = good({{"--rank", "0"}, {"--hosts", "beijing=127.0.0.1,127.0.0.2;shanghai=127.0.0.1"}}, topology(false));
  CHECK(p.listen[4] == "127.0.0.1:6172");
  CHECK_THAT(bad({{"--rank", "0"}, {"--store", "127.0.1.1:6170"}}, topology(true)), Contains("beijing rank 0") && Contains("--store"));
  CHECK_THAT(bad({{"--rank", "0"}, {"--port", "65535"}}, topology(true)), Contains("no port 65536"));
}

TEST_CASE("plaintext leaves the loopback only when that is spelled out") {
  const Variables outside{{"--rank", "4"}, {"--hosts", "shanghai=10.2.0.1"}};
  CHECK_THAT(bad(outside, topology(true)), Contains("10.2.0.1:6170 is not a loopback address") && Contains("--insecure"));
  auto insecure = outside, tls = outside;
  insecure["--insecure"] = "1";
  CHECK(good(insecure, topology(true)).tls_directory.empty());
  tls["--tls"] = "certs";
  CHECK(good(tls, topology(true)).tls_directory == "certs");
  CHECK(good(outside, topology(true, "mine")).tls_directory == "mine");
  CHECK(good(tls, topology(true, "mine")).tls_directory == "certs");
  CHECK_THAT(bad(insecure, topology(true, "mine")), Contains("[security] tls") && Contains("--insecure"));
  CHECK_THAT(bad({{"--store", "10.0.0.1:6000"}}, topology(false)), Contains("10.0.0.1:6000 is not a loopback"));
}

const std::string kFive = "127.0.1.1:6170,127.0.1.1:6171,127.0.1.2:6170,127.0.1.2:6171,127.0.2.1:6170";

TEST_CASE("PADDLE lists say where everyone listens") {
  const Variables paddle{{"PADDLE_TRAINER_ID", "2"}, {"PADDLE_TRAINER_ENDPOINTS", kFive}, {"PADDLE_CURRENT_ENDPOINT", "127.0.1.2:6170"}};
  for (const bool hosts : {false, true}) {
    const auto p = good({}, topology(hosts), 0, paddle);
    CHECK_FALSE(p.everyone);
    CHECK(p.here == Members{2});
    CHECK(p.listen[3] == "127.0.1.2:6171");
    CHECK(p.store == "127.0.1.1:6169");
  }
  auto elsewhere = topology(true);
  elsewhere.datacenters[1].hosts = {"127.0.3.1"};
  CHECK_THAT(bad({}, elsewhere, 0, paddle),
             Contains("127.0.2.1:6170 for shanghai rank 4") && Contains("two.toml says that it is at 127.0.3.1"));
  auto three = paddle;
  three["PADDLE_TRAINER_ENDPOINTS"] = "127.0.1.1:6170,127.0.1.1:6171,127.0.1.2:6170";
  CHECK_THAT(bad({}, topology(false), 0, three), Contains("says that there are 3 trainers, and the run has 5"));
  auto machines = paddle;
  machines["PADDLE_NNODES"] = "2";
  CHECK_THAT(bad({}, topology(false), 0, machines), Contains("PADDLE_NNODES says that there are 2 machines, and the run has 3"));
  auto outside = paddle;
  outside["XDC_DATACENTER"] = "shanghai";
  CHECK_THAT(bad({}, topology(true), 0, outside), Contains("PADDLE_TRAINER_ID") && Contains("XDC_DATACENTER"));
}

TEST_CASE("parameter servers of PADDLE stand in the order of their list") {
  Variables server{{"TRAINING_ROLE", "PSERVER"},
                   {"PADDLE_PSERVERS_IP_PORT_LIST", "127.0.1.1:7000,127.0.1.2:7000"},
                   {"POD_IP", "127.0.1.2"},
                   {"PADDLE_PORT", "7000"},
                   {"PADDLE_MASTER", "127.0.1.1:6169"},
                   {"PADDLE_TRAINERS_NUM", "5"}};
  const auto p = good({}, topology(false), 2, server);
  CHECK(p.here == Members{6});
  CHECK(p.listen[6] == "127.0.1.2:7000");
  CHECK(p.listen[0].empty());
  CHECK_FALSE(p.keeps_store);
  CHECK_THAT(bad({}, topology(false), 1, server),
             Contains("PADDLE_PSERVERS_IP_PORT_LIST says that there are 2 servers, and the run has 1"));
  server["PADDLE_TRAINERS_NUM"] = "4";
  CHECK_THAT(bad({}, topology(false), 2, server), Contains("PADDLE_TRAINERS_NUM says that there are 4 trainers, and the run has 5"));
  server.erase("PADDLE_MASTER");
  server["PADDLE_TRAINERS_NUM"] = "5";
  CHECK_THAT(bad({}, topology(false), 2, server), Contains("where do the launchers meet?"));
  const Variables trainer{{"TRAINING_ROLE", "TRAINER"},
                          {"PADDLE_PSERVERS_IP_PORT_LIST", "127.0.1.1:7000,127.0.1.2:7000"},
                          {"POD_IP", "127.0.1.1"},
                          {"PADDLE_TRAINER_ID", "0"},
                          {"PADDLE_MASTER", "127.0.1.1:6169"}};
  const auto t = good({}, topology(false), 2, trainer);
  CHECK(t.listen[0] == "127.0.1.1:0");
  CHECK(t.keeps_store);
}

TEST_CASE("lists without a word about who this process is are an error") {
  CHECK_THAT(bad({}, topology(false), 2,
                 {{"PADDLE_TRAINER_ID", "0"},
                  {"TRAINING_ROLE", "TRAINER"},
                  {"POD_IP", "127.0.0.1"},
                  {"PADDLE_PSERVERS_IP_PORT_LIST", "127.0.1.1:1"}}),
             Contains("says that there are 1 servers"));
}

TEST_CASE("members are described in few words") {
  const auto t = topology(true);
  Cluster cluster = make_cluster(t);
  add_servers(cluster, t, 0, 2);
  CHECK(describe_members(cluster, {0, 1, 2, 4, 5, 6}) == "beijing ranks 0-2, servers 0-1; shanghai rank 4");
  CHECK(describe_members(cluster, {0, 2, 3}) == "beijing rank 0, ranks 2-3");
  CHECK(describe_members(cluster, {}).empty());
}

TEST_CASE("the explanation of a placement names everyone's place") {
  const auto t = topology(true);
  const auto text = explain(explain_placement(good({{"--rank", "4"}}, t), make_cluster(t)));
  CHECK_THAT(text, Contains("shanghai rank 4") && Contains("127.0.2.1:6170") && Contains("started here") && Contains("started elsewhere"));
  CHECK_THAT(text, Contains("kept by the launcher of beijing rank 0"));
  CHECK_THAT(explain(explain_placement(good({}, t), make_cluster(t))), Contains("a free port"));
}

}  // namespace
}  // namespace xdc
