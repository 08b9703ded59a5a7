// Does --metrics serve what the run does, as text and to a real Prometheus server, and refuse early what it cannot?
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/cli/http.hpp"
#include "tests/cli/xdc_run_program.hpp"

namespace xdc::cli {

namespace {

using Json = nlohmann::json;

constexpr double kLong = 120;

// A run that would take hours, with its metrics at a free port.
struct Watched {
  Watched()
      : program(folder, {XDC_SOURCE_DIR "/scenarios/quickstart.toml", "--variant", "ring", "--set", "train.stop={ steps = 100000000 }",
                         "--metrics", "0"}) {
    REQUIRE(eventually(kLong, [this] { return value("xdc_progress_ratio{variant=\"ring\"}") > 0; }));
  }
  int port() const {
    const std::string err = program.err(), before = "metrics at http://127.0.0.1:";
    const size_t at = err.find(before);
    return at == std::string::npos || err.find('\n', at) == std::string::npos ? 0 : std::stoi(err.substr(at + before.size()));
  }
  std::string metrics() const { return port() == 0 ? "" : http_get(port(), "/metrics"); }
  // -1: there is no such series.
  double value(const std::string& series) const {
    const std::string text = metrics();
    const size_t at = text.find("\n" + series + " ");
    return at == std::string::npos ? -1 : std::stod(text.substr(at + series.size() + 2));
  }

  Folder folder;
  Program program;
};

// Debian's server, with its storage in a folder of the test.
class Prometheus {
 public:
  Prometheus(const Folder& folder, int target) : port_(free_port()) {
    std::ofstream(folder.file("prometheus.yml")) << fmt::format(
        "global: {{ scrape_interval: 200ms }}\nscrape_configs:\n- job_name: xdc\n  static_configs: [ {{ targets: [ '127.0.0.1:{}' ] }} ]\n",
        target);
    const std::vector<std::string> arguments{"prometheus", "--config.file=" + folder.file("prometheus.yml"),
                                             "--storage.tsdb.path=" + folder.file("storage"),
                                             fmt::format("--web.listen-address=127.0.0.1:{}", port_)};
    std::vector<char*> argv;
    for (const auto& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    log_ = folder.file("prometheus.log");
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      const int log = ::open(log_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
      ::dup2(log, STDOUT_FILENO);
      ::dup2(log, STDERR_FILENO);
      ::execvp("prometheus", argv.data());
      ::_exit(127);
    }
  }
  ~Prometheus() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Prometheus(const Prometheus&) = delete;
  Prometheus& operator=(const Prometheus&) = delete;

  // Of an expression that is one number; -1: it is none yet. `query` is written as in an address.
  double ask(const std::string& query) const {
    const std::string answer = http_get(port_, "/api/v1/query?query=" + query);
    const auto json = Json::parse(answer.substr(std::min(answer.size(), answer.find("\r\n\r\n"))), nullptr, false);
    const bool told = json.is_object() && json.value("status", "") == "success" && !json["data"]["result"].empty();
    return told ? std::stod(json["data"]["result"][0]["value"][1].get<std::string>()) : -1;
  }
  std::string log() const { return read(log_); }

 private:
  const int port_;
  std::string log_;
  pid_t pid_ = -1;
};

bool prometheus_is_here() { return ::access("/usr/bin/prometheus", X_OK) == 0; }

}  // namespace

TEST_CASE("metrics are served while the run goes on, and rise with it", "[cli]") {
  const Watched run;
  const std::string first = "{variant=\"ring\",datacenter=\"office\",rank=\"0\"}";
  const std::string text = run.metrics();
  INFO(text);
  REQUIRE(text.starts_with("HTTP/1.1 200 OK"));
  for (const auto* name : {"xdc_steps_total counter", "xdc_samples_total counter", "xdc_step_seconds histogram", "xdc_loss gauge",
                           "xdc_wan_payload_bytes_total counter", "xdc_wan_wire_bytes_total counter", "xdc_ranks_alive gauge"}) {
    CHECK(text.find(std::string("# TYPE ") + name) != std::string::npos);
  }
  const auto series_of = [&text](const std::string& name, const std::vector<std::string>& labels) {
    const size_t line = text.find("\n" + name + "{");
    REQUIRE(line != std::string::npos);
    for (const auto& label : labels) CHECK(text.find(label, line) != std::string::npos);
  };
  series_of("xdc_steps_total", {"rank=\"0\"", "rank=\"2\"", "datacenter=\"branch\""});
  series_of("xdc_ranks_alive", {"datacenter=\"office\""});
  const auto sum_of = [&run](const std::string& name) {
    double sum = 0;
    const std::string now = run.metrics();
    for (size_t at = now.find("\n" + name + "{"); at != std::string::npos; at = now.find("\n" + name + "{", at + 1)) {
      sum += std::stod(now.substr(now.find("} ", at) + 2));
    }
    return sum;
  };
  CHECK(sum_of("xdc_ranks_alive") == 3);
  const double steps = sum_of("xdc_steps_total"), samples = sum_of("xdc_samples_total");
  CHECK(steps > 0);
  CHECK(samples > steps);
  CHECK(eventually(kLong, [&] { return sum_of("xdc_steps_total") > steps && sum_of("xdc_step_seconds_count") > steps; }));
  CHECK(eventually(kLong, [&] { return sum_of("xdc_wan_payload_bytes_total") > 0; }));
  CHECK(sum_of("xdc_wan_wire_bytes_total") > sum_of("xdc_wan_payload_bytes_total") * 0.5);
}

TEST_CASE("a client that connects and says nothing does not keep others from the metrics", "[cli]") {
  const Watched run;
  const int silent = silent_client(run.port());
  REQUIRE(silent >= 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));  // it has the server's thread
  const auto begin = std::chrono::steady_clock::now();
  const std::string text = run.metrics();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  ::close(silent);
  CHECK(text.starts_with("HTTP/1.1 200 OK"));
  CHECK(took.count() < 10);  // Prometheus' scrape_timeout; the server's own patience would be 30
}

TEST_CASE("a port for metrics that is taken, or is none, is refused before anything runs", "[cli]") {
  const Folder folder;
  int port = 0;
  const int taken = listening_socket(port);
  const std::vector<std::pair<std::string, std::string>> cases{{std::to_string(port), fmt::format("port {} of 127.0.0.1 is taken", port)},
                                                               {"70000", "65535"},
                                                               {"localhost:9464", "wants PORT or ADDRESS:PORT"},
                                                               {"203.0.113.9:9464", "203.0.113.9"}};
  for (const auto& [where, why] : cases) {
    Program program(folder, {XDC_SOURCE_DIR "/scenarios/quickstart.toml", "--variant", "ring", "--metrics", where});
    const auto exit = program.wait(kLong);
    REQUIRE(exit);
    INFO(program.err());
    CHECK(exit->code == 2);
    CHECK(program.err().find("--metrics " + where) != std::string::npos);
    CHECK(program.err().find(why) != std::string::npos);
    CHECK(program.err().find("processes") == std::string::npos);
  }
  ::close(taken);
}

TEST_CASE("Debian's Prometheus server scrapes the metrics and answers questions about the run", "[cli]") {
  if (!prometheus_is_here()) {
    WARN("xdc skipped: /usr/bin/prometheus is not there (apt-get install prometheus)");
    return;
  }
  const Watched run;
  const Prometheus server(run.folder, run.port());
  const bool scraped = eventually(kLong, [&] { return server.ask("sum(xdc_steps_total%7Bvariant=%22ring%22%7D)") > 0; });
  INFO(server.log());
  REQUIRE(scraped);
  CHECK(server.ask("count(xdc_steps_total)") == 3);
  CHECK(server.ask("sum(xdc_ranks_alive)") == 3);
  CHECK(eventually(kLong, [&] { return server.ask("sum(rate(xdc_samples_total%5B10s%5D))") > 0; }));
  CHECK(eventually(kLong, [&] { return server.ask("max(rate(xdc_wan_wire_bytes_total%5B10s%5D))") > 0; }));
  CHECK(eventually(kLong, [&] { return server.ask("sum(rate(xdc_step_seconds_count%5B10s%5D))") > 0; }));
  CHECK(server.ask("up") == 1);
}

}  // namespace xdc::cli
