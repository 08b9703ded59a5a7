#include "core/config/topology.hpp"

#include <catch2/catch.hpp>

#include "core/config/device_table.hpp"
#include "tests/unit/config/text_file.hpp"

namespace xdc {
namespace {

using Catch::Contains;

const std::string kLan = "lan = { bandwidth = '10 Gbps', latency = '5 us' }\n";

std::string datacenter(const std::string& name, const std::string& more = "") {
  return "[[datacenter]]\nname = '" + name + "'\n" + kLan + more;
}
std::string link(const std::string& a, const std::string& b, const std::string& latency, const std::string& more = "") {
  return "[[link]]\nbetween = ['" + a + "', '" + b + "']\nbandwidth = '1 Gbps'\nlatency = '" + latency + "'\n" + more;
}

Topology good(const std::string& text) {
  const TextFile file("topology.toml", text);
  Diagnostics diagnostics;
  auto topology = read_topology(file.path(), diagnostics);
  INFO(diagnostics.text());
  REQUIRE(topology.ok());
  CHECK(diagnostics.ok());
  return std::move(topology).value();
}

std::string bad(const std::string& text) {
  const TextFile file("topology.toml", text);
  Diagnostics diagnostics;
  CHECK_FALSE(read_topology(file.path(), diagnostics).ok());
  CHECK_FALSE(diagnostics.ok());
  return diagnostics.text();
}

TEST_CASE("a topology is read with its defaults") {
  const auto t = good(datacenter("a",
                                 "nodes = 2\ndevices_per_node = 4\ndevice = 'a100_80g'\nuplink = { bandwidth = '5 Gbps' }\n"
                                 "egress_price_per_gb = 0.08\ndevice_price_per_hour = 2\n") +
                      datacenter("北京", "intra_node = { bandwidth = '600 GB/s', latency = '1 us' }\n") +
                      link("a", "北京", "14 ms", "streams = 4\nwindow = '4 MiB'\nloss = 0.02\nmtu = 9000\ncongestion = 'bbr'\n") +
                      "[device.mine]\nflops = '3 TFLOPS'\nmemory_bandwidth = '100 GB/s'\nmemory = '8 GB'\n");
  REQUIRE(t.datacenters.size() == 2);
  CHECK(t.datacenters[0].devices() == 8);
  CHECK(t.datacenters[0].intra_node.bandwidth == 1.25e9);
  CHECK(t.datacenters[0].uplink->bandwidth == 0.625e9);
  CHECK(t.datacenters[0].egress_price_per_gb == 0.08);
  CHECK(t.datacenters[1].device == "cpu");
  CHECK(t.datacenters[1].intra_node.bandwidth == 600e9);
  CHECK_FALSE(t.datacenters[1].uplink);
  CHECK_FALSE(t.datacenters[1].device_price_per_hour);
  CHECK(t.links[0].streams == 4);
  CHECK(t.links[0].window_bytes == 4 * 1048576);
  CHECK(t.links[0].loss == 0.02);
  CHECK(t.links[0].mtu == 9000);
  CHECK(t.links[0].congestion == Congestion::bbr);
  CHECK(t.network == NetworkModel::tcp);
  CHECK(t.links[0].line.latency == milliseconds(14));
  CHECK(t.devices.at("mine").memory_bytes == 8'000'000'000);
  CHECK(t.datacenter_index("北京") == 1);
  CHECK(t.datacenter_index("paris") == -1);
}

TEST_CASE("a single datacenter needs no link") { CHECK(good(datacenter("a")).links.empty()); }

TEST_CASE("a link that names no datacenter offers the nearest") {
  CHECK_THAT(bad(datacenter("beijing") + datacenter("shanghai") + link("bejing", "shanghai", "1 ms")),
             Contains("link[0].between: there is no datacenter \"bejing\", did you mean \"beijing\"?; there are: beijing, shanghai"));
}

TEST_CASE("two links between the same pair, in either order, are refused") {
  CHECK_THAT(bad(datacenter("a") + datacenter("b") + link("a", "b", "1 ms") + link("b", "a", "2 ms")),
             Contains("link[1].between: \"b\" and \"a\" are already joined by the link in line 8"));
}

TEST_CASE("a link from a datacenter to itself is refused") {
  CHECK_THAT(bad(datacenter("a") + datacenter("b") + link("a", "b", "1 ms") + link("b", "b", "2 ms")), Contains("joins \"b\" with itself"));
}

TEST_CASE("datacenters that cannot reach each other are named") {
  CHECK_THAT(bad(datacenter("a") + datacenter("b") + datacenter("c") + link("a", "b", "1 ms")),
             Contains("\"c\" cannot be reached from \"a\""));
  CHECK_THAT(bad(datacenter("a") + datacenter("b")), Contains("\"b\" cannot be reached"));
}

TEST_CASE("two datacenters of one name are refused") {
  CHECK_THAT(bad(datacenter("a") + datacenter("a")), Contains("datacenter[1].name: \"a\" is already the name of the datacenter in line 2"));
}

TEST_CASE("a topology without datacenters is refused") {
  CHECK_THAT(bad(""), Contains("at least one [[datacenter]] is required"));
  CHECK_THAT(bad("datacenter = 5"), Contains("an array is wanted"));
  CHECK_THAT(bad("datacenter = []"), Contains("at least one [[datacenter]] is required"));
  CHECK_THAT(bad("datacenter = [5]"), Contains("datacenter[0]: a table is wanted"));
}

TEST_CASE("a line that says nothing of TCP is that of a Linux host") {
  const auto t = good(datacenter("a") + datacenter("b") + link("a", "b", "1 ms"));
  CHECK(t.links[0].streams == 1);
  CHECK(t.links[0].window_bytes == 3 * 1048576);
  CHECK(t.links[0].mtu == 1500);
  CHECK(t.links[0].loss == 0);
  CHECK(t.links[0].congestion == Congestion::cubic);
}

TEST_CASE("a plain network has no keys of TCP") {
  const auto two = datacenter("a") + datacenter("b");
  const std::string plain = "[network]\nmodel = 'plain'\n";
  CHECK(good(two + link("a", "b", "1 ms") + plain).network == NetworkModel::plain);
  CHECK(good(two + link("a", "b", "1 ms") + "[network]\nmodel = 'tcp'\n").network == NetworkModel::tcp);
  for (const std::string key : {"streams = 1", "window = '1 MB'", "mtu = 1500", "loss = 0", "congestion = 'cubic'"}) {
    CHECK_THAT(bad(two + link("a", "b", "1 ms", key + "\n") + plain), Contains("means nothing to [network] model = \"plain\""));
  }
  CHECK_THAT(bad(two + link("a", "b", "1 ms") + "[network]\nmodel = 'plane'\n"), Contains("network.model"));
  CHECK_THAT(bad(two + link("a", "b", "1 ms") + "[network]\nmodell = 'plain'\n"), Contains("network.modell"));
}

TEST_CASE("more loss than the formulas hold for is refused") {
  const auto two = datacenter("a") + datacenter("b");
  CHECK(good(two + link("a", "b", "1 ms", "loss = 0.01\n")).links[0].loss == 0.01);
  CHECK(good(two + link("a", "b", "1 ms", "loss = 0.05\ncongestion = 'bbr'\n")).links[0].loss == 0.05);
  CHECK_THAT(bad(two + link("a", "b", "1 ms", "loss = 0.011\n")),
             Contains("link[0].loss: is more than 0.01, above which time-outs decide and no formula holds for cubic (congestion = \"bbr\": "
                      "up to 0.05)"));
  CHECK_THAT(bad(two + link("a", "b", "1 ms", "loss = 0.06\ncongestion = 'bbr'\n")), Contains("is more than 0.05"));
  CHECK_THAT(bad(two + link("a", "b", "1 ms", "congestion = 'reno'\n")), Contains("link[0].congestion"));
  CHECK_THAT(bad(two + link("a", "b", "1 ms", "mtu = 575\n")), Contains("link[0].mtu: 575 is out of range"));
}

TEST_CASE("what is not modelled is refused, not ignored") {
  const auto two = datacenter("a") + datacenter("b");
  CHECK_THAT(bad(two + link("a", "b", "1 ms", "jitter = '1 ms'\n")), Contains("link[0].jitter: is not modelled yet"));
  CHECK_THAT(bad(datacenter("a", "host = '10.0.0.1'\n")), Contains("hosts"));
  CHECK_THAT(bad(datacenter("a") + "[security]\ntls = true\n"), Contains("security.tls"));
}

TEST_CASE("hosts are one address a node, and certificates lie beside the topology") {
  const auto t = good(datacenter("a", "nodes = 2\nhosts = ['10.1.0.1', '10.1.0.2']\n") + datacenter("b", "hosts = '10.2.0.1'\n") +
                      datacenter("c") + link("a", "b", "1 ms") + link("a", "c", "1 ms") + "[security]\ntls = 'certs'\n");
  CHECK(t.datacenters[0].hosts == std::vector<std::string>{"10.1.0.1", "10.1.0.2"});
  CHECK(t.datacenters[1].hosts == std::vector<std::string>{"10.2.0.1"});
  CHECK(t.datacenters[2].hosts.empty());
  CHECK(t.tls_directory == t.path.substr(0, t.path.rfind('/') + 1) + "certs");
  CHECK(good(datacenter("a") + "[security]\ntls = '/etc/xdc'\n").tls_directory == "/etc/xdc");
  CHECK(good(datacenter("a")).tls_directory.empty());
}

TEST_CASE("hosts that no machine can have, too few of them or one twice are refused") {
  for (const auto* host :
       {"10.1.0", "10.1.0.1.2", "10.1.0.256", "10.1.0.01", "::1", "beijing.bank", "10.1.0.1:6170", "", "10..0.1", "1e1.0.0.1"}) {
    INFO(host);
    CHECK_THAT(bad(datacenter("a", std::string("hosts = '") + host + "'\n")), Contains("is no IPv4 address"));
  }
  CHECK_THAT(bad(datacenter("a", "nodes = 2\nhosts = ['10.1.0.1']\n")), Contains("there is 1 address for 2 nodes"));
  CHECK_THAT(bad(datacenter("a", "nodes = 2\nhosts = ['10.1.0.1', '10.1.0.1']\n")), Contains("is there twice"));
  CHECK_THAT(bad(datacenter("a", "hosts = []\n")), Contains("is empty"));
  CHECK_THAT(bad(datacenter("a", "hosts = 7\n")), Contains("hosts"));
}

TEST_CASE("figures that make no sense are refused, all of them at once") {
  const auto text = bad(datacenter("a", "nodes = 0\ndevices_per_node = -1\negress_price_per_gb = nan\ndevice_price_per_hour = -2\n") +
                        datacenter("b", "nodes = 1000000000000\nuplink = 5\n") +
                        "[[link]]\nbetween = ['a', 'b']\nbandwidth = '10 Gbs'\nlatency = 14\nloss = 2\nstreams = 0\nwindow = '0 B'\n");
  for (const auto* piece : {"datacenter[0].nodes: 0 is out of range", "datacenter[0].devices_per_node: -1 is out of range",
                            "egress_price_per_gb: a finite number", "device_price_per_hour: -2 is out of range",
                            "datacenter[1].nodes: 1000000000000 is out of range", "datacenter[1].uplink: a table is wanted",
                            "did you mean \"Gbps\"", "link[0].latency: the number 14 has no unit", "link[0].loss: 2 is out of range",
                            "link[0].streams: 0 is out of range", "link[0].window: must be at least 1 B"}) {
    CHECK_THAT(text, Contains(piece));
  }
}

TEST_CASE("more devices than can be simulated are refused") {
  CHECK_THAT(bad(datacenter("a", "nodes = 65536\ndevices_per_node = 8\n")), Contains("524288 devices"));
}

TEST_CASE("a file that is not there is reported where it was named") {
  Diagnostics diagnostics;
  CHECK_FALSE(read_topology("/nowhere.toml", diagnostics, {"s.toml", 2, 12}).ok());
  CHECK(diagnostics.text() == "s.toml:2:12: topology: /nowhere.toml cannot be read: No such file or directory\n");
}

std::string names_along(const Topology& t, int from, int to) {
  const auto route = find_route(t, from, to);
  REQUIRE(route);
  std::string out = t.datacenters[static_cast<size_t>(from)].name;
  int64_t latency = 0;
  for (const auto& hop : route->hops) {
    const auto& link_spec = t.links[static_cast<size_t>(hop.link)];
    CHECK(link_spec.between[hop.forward ? 0 : 1] == out.substr(out.size() - 1));
    out += link_spec.between[hop.forward ? 1 : 0];
    latency += link_spec.line.latency.ns;
  }
  CHECK(latency == route->latency.ns);
  return out;
}

TEST_CASE("a route is that of least latency, over as many links as it takes") {
  const auto t = good(datacenter("a") + datacenter("b") + datacenter("c") + datacenter("d") + link("a", "b", "10 ms") +
                      link("c", "b", "10 ms") + link("a", "c", "25 ms") + link("c", "d", "1 ms"));
  CHECK(names_along(t, 0, 1) == "ab");
  CHECK(names_along(t, 0, 2) == "abc");
  CHECK(names_along(t, 0, 3) == "abcd");
  CHECK(names_along(t, 3, 0) == "dcba");
}

TEST_CASE("routes of equal latency are decided by the names along them, not by the order of the file") {
  const auto t = good(datacenter("s") + datacenter("y") + datacenter("x") + datacenter("t") + link("s", "y", "1 ms") +
                      link("y", "t", "1 ms") + link("s", "x", "1 ms") + link("x", "t", "1 ms"));
  CHECK(names_along(t, 0, 3) == "sxt");
  const auto zero =
      good(datacenter("s") + datacenter("a") + datacenter("t") + link("s", "t", "0 ms") + link("s", "a", "0 ms") + link("a", "t", "0 ms"));
  CHECK(names_along(zero, 0, 2) == "sat");
}

TEST_CASE("a device is looked up in the topology first, then in the built-in table") {
  auto t = good(datacenter("a"));
  REQUIRE(find_device(t, "v100") != nullptr);
  CHECK(find_device(t, "v100")->memory_bytes == 32'000'000'000);
  CHECK(find_device(t, "abacus") == nullptr);
  t.devices.emplace("v100", DeviceSpec{"v100", 1, 2, 3, "mine"});
  CHECK(find_device(t, "v100")->source == "mine");
  for (const auto& device : builtin_devices()) {
    CHECK(device.flops_per_s > 0);
    CHECK(device.memory_bandwidth > 0);
    CHECK_FALSE(device.source.empty());
  }
}

}  // namespace
}  // namespace xdc
