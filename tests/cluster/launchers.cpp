#include "tests/cluster/launchers.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

namespace xdc::cluster {

namespace {

constexpr const char* kTopology = R"(
[[datacenter]]
name = "beijing"
devices_per_node = 2
hosts = "127.0.1.1"
lan = { bandwidth = "10 Gbps", latency = "50 us" }

[[datacenter]]
name = "shanghai"
hosts = ["127.0.2.1"]
lan = { bandwidth = "10 Gbps", latency = "50 us" }

[[datacenter]]
name = "guangzhou"
hosts = ["127.0.3.1"]
lan = { bandwidth = "10 Gbps", latency = "50 us" }

[[link]]
between = ["beijing", "shanghai"]
bandwidth = "1 Gbps"
latency = "14 ms"

[[link]]
between = ["beijing", "guangzhou"]
bandwidth = "1 Gbps"
latency = "20 ms"

[[link]]
between = ["shanghai", "guangzhou"]
bandwidth = "1 Gbps"
latency = "16 ms"
)";

constexpr const char* kScenario = R"(
topology = "topology.toml"
seed = 5

[model]
kind = "linear"

[data]
source = "generated"
train_samples = 1280
test_samples = 200
height = 8
width = 8
classes = 4
samples = { beijing = 640, shanghai = 320, guangzhou = 320 }

[train]
batch_per_rank = 16
optimizer = { kind = "sgd", lr = 0.1 }
stop = { epochs = 1 }

[[variant]]
name = "ring"
strategy = { kind = "ring_allreduce" }

[[variant]]
name = "tree"
strategy = { kind = "hierarchical_allreduce" }
codec = { wan = { kind = "int8", error_feedback = true } }

[[variant]]
name = "ps"
strategy = { kind = "parameter_server", placement = "beijing" }
)";

// Nobody listens at the first of `count` ports from here on any address of the loopback that is used, nor in the others.
bool are_free(int first, int count) {
  for (int port = first; port < first + count; ++port) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_ANY);
    const bool free = ::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    ::close(fd);
    if (!free) {
      return false;
    }
  }
  return true;
}

int find_ports() {
  constexpr int kFirst = 10'000, kSpan = 20'000, kCount = 8;
  for (int tried = 0; tried < 200; ++tried) {
    const int port = kFirst + static_cast<int>((static_cast<unsigned>(::getpid()) * 8U + static_cast<unsigned>(tried) * 24U) % kSpan);
    if (are_free(port, kCount)) {
      return port + 1;  // the store stands below
    }
  }
  return 0;
}

nlohmann::json parse_report(const std::string& text) {
  auto report = nlohmann::json::parse(text, nullptr, false);
  INFO(text);
  REQUIRE(report.is_object());
  return report;
}

}  // namespace

Site::Site() : port_(find_ports()) {
  REQUIRE(port_ > 0);
  std::ofstream(folder_.file("topology.toml")) << kTopology;
  std::ofstream(folder_.file("scenario.toml")) << kScenario;
}

std::unique_ptr<cli::Program> Site::start(const std::string& name, std::vector<std::string> arguments,
                                          const std::vector<std::string>& environment) {
  arguments.insert(arguments.begin(), scenario());
  arguments.insert(arguments.end(), {"--json", json(name), "--log-dir", folder_.file("logs")});
  return std::make_unique<cli::Program>(folder_, arguments, environment, name + ".");
}

std::unique_ptr<cli::Program> Site::start_datacenter(const std::string& name, std::vector<std::string> more) {
  more.insert(more.end(), {"--datacenter", name, "--port", fmt::format("{}", port_)});
  return start(name, std::move(more));
}

std::string Site::digest_of(const std::string& name, int variant) const {
  return parse_report(cli::read(json(name)))["variants"][static_cast<size_t>(variant)]["parameters_digest"];
}

std::string Site::simulated(const std::string& variant) const {
  const std::string out = folder_.file("sim.json");
  const std::string command =
      fmt::format("'{}' '{}' --variant '{}' --json '{}' >'{}' 2>&1", XDC_SIM, scenario(), variant, out, folder_.file("sim.out"));
  REQUIRE(std::system(command.c_str()) == 0);
  return parse_report(cli::read(out))["variants"][0]["parameters_digest"];
}

bool Site::has_stepped(const std::string& rank) const {
  return cli::read(folder_.file("logs/" + rank + ".events.jsonl")).find("\"step\":3") != std::string::npos;
}

Endless::Endless() {
  for (const std::string& name : site.datacenters()) {
    programs.push_back(site.start_datacenter(name, {"--variant", "ring", "--set", "train.stop={ steps = 100000000 }"}));
  }
  for (const auto* rank : {"beijing-0", "beijing-1", "shanghai-2", "guangzhou-3"}) {
    INFO(rank << "\n" << programs[0]->err() << programs[1]->err() << programs[2]->err());
    REQUIRE(cli::eventually(kLong, [&] { return site.has_stepped(rank); }));
  }
  for (const auto& program : programs) {
    const auto some = program->ranks();
    ranks.insert(ranks.end(), some.begin(), some.end());
  }
  REQUIRE(ranks.size() == 4);
}

bool Endless::all_ranks_gone(double seconds) const {
  return cli::eventually(seconds, [this] { return std::none_of(ranks.begin(), ranks.end(), cli::is_alive); });
}

}  // namespace xdc::cluster
