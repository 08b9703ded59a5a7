// Prices, bounds, --check, --trace and the lists: what a planner decides by.
#include <signal.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/cli/process.hpp"
#include "tests/cli/report_of.hpp"
#include "tests/cli/workspace.hpp"

namespace xdc::cli {
namespace {

using Catch::Contains;
using nlohmann::json;

void give_prices(const Workspace& workspace) {
  workspace.replace_in("topology.toml", "nodes = 2\n", "nodes = 2\ndevice_price_per_hour = 3600\negress_price_per_gb = 1000\n");
  workspace.replace_in("topology.toml", "name = \"shanghai\"\n",
                       "name = \"shanghai\"\ndevice_price_per_hour = 7200\negress_price_per_gb = 2000\n");
}

TEST_CASE("without prices there is no cost, and the table says where prices are written") {
  const Workspace workspace;
  CHECK(report_of({workspace.scenario()}).at("variants")[0].at("cost").at("total").is_null());
  CHECK_THAT(sim({workspace.scenario()}).out, Contains("not priced") && Contains("device_price_per_hour"));
}

TEST_CASE("cost is devices by the hour and egress by the gigabyte, to the stop and to the target") {
  const Workspace workspace;
  give_prices(workspace);
  workspace.replace_in("scenario.toml", "eval_every = 5", "eval_every = 5\ntarget = { metric = \"accuracy\", at_least = 0.01 }");
  const auto report = report_of({workspace.scenario()});
  for (const auto& v : report.at("variants")) {
    const double hours = v.at("elapsed_s").get<double>() / 3600;
    double egress = 0;
    for (const auto& link : v.at("links")) egress += link.at("bytes").get<double>() / 1e9 * (link.at("from") == "beijing" ? 1000 : 2000);
    const auto& cost = v.at("cost");
    CHECK(cost.at("devices").get<double>() == Approx(hours * (2 * 3600 + 7200)));
    CHECK(cost.at("egress").get<double>() == Approx(egress));
    CHECK(cost.at("total").get<double>() == Approx(hours * (2 * 3600 + 7200) + egress));
    // Met at the first evaluation, after 5 of 20 steps.
    CHECK(v.at("steps_to_target") == 5);
    const double part = v.at("time_to_target_s").get<double>() / v.at("elapsed_s").get<double>();
    CHECK(cost.at("to_target").get<double>() == Approx(hours * part * (2 * 3600 + 7200) + egress * 5 / 20));
  }
  const auto table = sim({workspace.scenario()}).out;
  CHECK_THAT(table, Contains("cost to") && Contains("best for cost") && !Contains("not priced"));
}

TEST_CASE("a device's own price counts where its datacenter has none") {
  const Workspace workspace;
  give_prices(workspace);
  workspace.replace_in("topology.toml", "nodes = 2\ndevice_price_per_hour = 3600\n", "nodes = 2\ndevice = \"rented\"\n");
  workspace.replace_in("topology.toml", "name = \"shanghai\"\n", "name = \"shanghai\"\ndevice = \"rented\"\n");
  workspace.write("topology.toml", workspace.read("topology.toml") +
                                       "\n[device.rented]\nflops = \"1 TFLOPS\"\nmemory_bandwidth = \"100 GB/s\"\n"
                                       "memory = \"10 GB\"\nprice_per_hour = 1800\n");
  const auto v = report_of({workspace.scenario()}).at("variants")[0];
  CHECK(v.at("cost").at("devices").get<double>() == Approx(v.at("elapsed_s").get<double>() / 3600 * (2 * 1800 + 7200)));
}

TEST_CASE("every step takes at least its computation and what the slowest line needs") {
  const Workspace workspace;
  const auto report = report_of({workspace.scenario()});
  for (const auto& v : report.at("variants")) {
    CHECK(v.at("violated_bounds").empty());
    const double bound = v.at("lower_bound_s").at("step");
    CHECK(bound > 0);
    CHECK(bound <= v.at("step_time_s").at("mean").get<double>() * 1.000001);
    double slowest = 0;
    for (const auto& link : v.at("links")) {
      CHECK(link.at("rate_bytes_per_s") == 12'500'000);
      CHECK(link.at("latency_s") == 0.01);
      CHECK(link.at("utilisation").get<double>() > 0);
      CHECK(link.at("utilisation").get<double>() <= 1);
      slowest = std::max(slowest, link.at("closed_form_bytes_per_step").get<double>() / 12'500'000);
    }
    CHECK(bound == Approx(std::max(slowest, v.at("compute_s").get<double>())));
  }
}

TEST_CASE("the words below the table say why, and where the choice would be another one") {
  const Workspace workspace;
  const auto done = sim({workspace.scenario()});
  CHECK_THAT(done.out, Contains("best for time") && Contains("  why") && Contains("in a row") && Contains("would change"));
}

// Three cities joined by lines of 1 Gbps, one of them of another bandwidth; a server against a ring. Phantom: time alone is asked.
std::string three_cities(const Workspace& workspace, double slowest_mbps) {
  std::string topology;
  for (const auto* name : {"beijing", "shanghai", "guangzhou"}) {
    topology += std::string("[[datacenter]]\nname = \"") + name +
                "\"\ndevices_per_node = 4\ndevice = \"a100_80g\"\nlan = { bandwidth = \"200 Gbps\", latency = \"5 us\" }\n";
  }
  const auto link = [](const std::string& between, double mbps, const std::string& latency) {
    return "[[link]]\nbetween = " + between + "\nbandwidth = \"" + std::to_string(mbps) + " Mbps\"\nlatency = \"" + latency +
           "\"\nstreams = 4\n";
  };
  topology += link("[\"beijing\", \"shanghai\"]", 1000, "14 ms") + link("[\"shanghai\", \"guangzhou\"]", 1000, "15 ms") +
              link("[\"beijing\", \"guangzhou\"]", slowest_mbps, "20 ms");
  workspace.write("cities.toml", topology);
  return workspace.write("compare.toml", R"(topology = "cities.toml"
payload = "phantom"
model = { kind = "lenet" }
data = { source = "generated", train_samples = 12000, test_samples = 100, height = 28, width = 28, classes = 10 }
train = { batch_per_rank = 20, optimizer = { kind = "sgd", lr = 0.1 }, stop = { steps = 40 } }

[[variant]]
name = "ps"
strategy = { kind = "parameter_server", placement = "beijing" }

[[variant]]
name = "ring"
strategy = { kind = "ring_allreduce" }
)");
}

TEST_CASE("the runner-up really overtakes where the words say that it does") {
  const Workspace workspace;
  const auto time = report_of({three_cities(workspace, 900)}).at("comparison")[0];
  CHECK(time.at("for") == "time");
  CHECK(time.at("best") == json{"ps"});
  const auto words = time.at("would_change").get<std::string>();
  const std::string before = "ring overtakes ps where beijing ↔ guangzhou has less than about ";
  INFO(words);
  REQUIRE(words.rfind(before, 0) == 0);
  REQUIRE(words.find(" Mbps", before.size()) != std::string::npos);
  const double there = std::stod(words.substr(before.size()));
  CHECK(report_of({three_cities(workspace, there * 1.15)}).at("comparison")[0].at("best") == json{"ps"});
  CHECK(report_of({three_cities(workspace, there / 1.15)}).at("comparison")[0].at("best") == json{"ring"});
}

TEST_CASE("option --check runs everything twice and says how much was equal") {
  const Workspace workspace;
  const auto done = sim({workspace.scenario(), "--check", "--jobs", "1"});
  INFO(done.err);
  CHECK(done.exit_code == 0);
  CHECK_THAT(done.out, Contains("best for bytes"));
  const auto at = done.err.find("3 variants ran twice, ");
  REQUIRE(at != std::string::npos);
  // 20 steps of three ranks in each of three variants: more events than that.
  CHECK(std::stoi(done.err.substr(at + 22)) > 3 * 3 * 20);
}

TEST_CASE("option --check and --trace exclude each other") {
  const Workspace workspace;
  CHECK(sim({workspace.scenario(), "--check", "--trace", workspace.path("t.json")}).exit_code == 2);
}

TEST_CASE("a file named by --trace has every variant's processes, its ranks' work and every message with its bytes") {
  const Workspace workspace;
  const auto done = sim({workspace.scenario(), "--trace", workspace.path("trace.json"), "--json", workspace.path("report.json")});
  INFO(done.err);
  REQUIRE(done.exit_code == 0);
  const auto trace = json::parse(workspace.read("trace.json"));
  const auto report = json::parse(workspace.read("report.json"));
  std::map<int, std::string> processes;
  std::set<std::string> threads;
  std::map<int, std::map<std::string, int64_t>> payload;
  std::set<int64_t> open;
  int work = 0;
  for (const auto& event : trace.at("traceEvents")) {
    const auto phase = event.at("ph").get<std::string>();
    if (event.at("name") == "process_name") processes[event.at("pid")] = event.at("args").at("name");
    if (event.at("name") == "thread_name") threads.insert(event.at("args").at("name"));
    if (phase == "X") {
      ++work;
      CHECK(event.at("dur").get<double>() > 0);
    }
    if (phase == "b" && event.at("cat") == "wan") {
      payload[event.at("pid")][event.at("name")] += event.at("args").at("payload_bytes").get<int64_t>();
    }
    // Ids are a process's own.
    const auto id = event.contains("id") ? event.at("pid").get<int64_t>() * 1'000'000'000 + event.at("id").get<int64_t>() : 0;
    if (phase == "b") CHECK(open.insert(id).second);
    if (phase == "e") CHECK(open.erase(id) == 1);
  }
  CHECK(open.empty());
  CHECK(processes == std::map<int, std::string>{{1, "ps: beijing"},
                                                {2, "ps: shanghai"},
                                                {3, "ring: beijing"},
                                                {4, "ring: shanghai"},
                                                {5, "tree: beijing"},
                                                {6, "tree: shanghai"}});
  CHECK(threads.count("rank 0 compute") == 1);
  CHECK(threads.count("rank 2 exchange") == 1);
  CHECK(work > 3 * 3 * 20);
  for (int v = 0; v < 3; ++v) {
    for (const auto& link : report.at("variants")[static_cast<size_t>(v)].at("links")) {
      const bool first = link.at("from") == "beijing";
      const std::string track = first ? "beijing → shanghai" : "shanghai → beijing";
      CHECK(payload[2 * v + (first ? 1 : 2)][track] == link.at("payload_bytes").get<int64_t>());
    }
  }
}

TEST_CASE("the trace of two runs is the same file, whatever the number of jobs") {
  const Workspace workspace;
  REQUIRE(sim({workspace.scenario(), "--trace", workspace.path("a.json"), "--jobs", "1"}).exit_code == 0);
  REQUIRE(sim({workspace.scenario(), "--trace", workspace.path("b.json"), "--jobs", "3"}).exit_code == 0);
  CHECK(workspace.read("a.json") == workspace.read("b.json"));
}

TEST_CASE("a trace that cannot be written is found before the run, and a full disk is an error after it") {
  const Workspace workspace;
  const auto nowhere = sim({workspace.scenario(), "--trace", workspace.path("no/such/folder.json")});
  CHECK(nowhere.exit_code == 2);
  CHECK(nowhere.out.empty());
  CHECK_THAT(nowhere.err, Contains("--trace") && Contains("No such file or directory"));
  CHECK(sim({workspace.scenario(), "--trace", "-"}).exit_code == 2);
  const auto full = sim({workspace.scenario(), "--trace", "/dev/full"});
  CHECK(full.exit_code == 3);
  CHECK_THAT(full.err, Contains("/dev/full cannot be written: No space left on device"));
}

TEST_CASE("an interrupted --check leaves no process behind") {
  const Workspace workspace;
  Process process({XDC_SIM, workspace.scenario(), "--check", "--set", "train.stop={ steps = 100000000 }", "--set", "payload=phantom"});
  const auto children = [&] {
    std::vector<pid_t> out;
    std::ifstream list("/proc/" + std::to_string(process.pid()) + "/task/" + std::to_string(process.pid()) + "/children");
    for (pid_t pid; list >> pid;) out.push_back(pid);
    return out;
  };
  std::vector<pid_t> running;
  for (int i = 0; i < 600 && running.size() < 2; ++i) {
    usleep(50'000);
    running = children();
  }
  REQUIRE(running.size() == 2);
  process.send(SIGINT);
  const auto done = process.finish();
  for (const auto pid : running) CHECK(kill(pid, 0) != 0);
  CHECK(done.exit_code == 3);
  CHECK_THAT(done.err, Contains("interrupted: 0 of 3 variants were done"));
}

TEST_CASE("option --list-profiles has parameters, operations and sources") {
  const auto done = sim({"--list-profiles"});
  CHECK(done.exit_code == 0);
  CHECK_THAT(done.out, Contains("25.6 M") && Contains("8.28 GFLOP") && Contains("83.9 MB  image 224x224") && Contains("1512.03385"));
  CHECK_THAT(done.out, Contains("12.9 B") && Contains("56.1 TFLOP") && !Contains("e+"));
}

}  // namespace
}  // namespace xdc::cli
