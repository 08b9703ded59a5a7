// What does a round cost in xdc-run on one machine? scenarios/bank_ocr.toml, variant "hierarchical int8", its 12 ranks here:
//
//   bench_rounds [REPEATS]                  3
//
// images a second when it really trains; milliseconds a step of fabric and round logic, which is a rehearsal that does not wait for
// computations either (LeNet's own bytes, then those of the cost profile); and what a run of a single step takes from start to end.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace {

using Json = nlohmann::json;
using Words = std::vector<std::string>;

const std::filesystem::path kSource = XDC_SOURCE_DIR;
constexpr int kRanks = 12;

struct Run {
  double wall_s = 0;       // from fork to the end of the program
  double processor_s = 0;  // of it and all ranks
  Json variant;
};

std::optional<Run> run(const std::string& folder, const Words& options) {
  const std::string json = folder + "/report.json";
  Words words{XDC_RUN,    (kSource / "scenarios/bank_ocr.toml").string(), "--variant", "hierarchical int8", "--json", json, "--set",
              "expect={}"};
  words.insert(words.end(), options.begin(), options.end());
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const auto start = std::chrono::steady_clock::now();
  const pid_t child = ::fork();
  if (child == 0) {
    const int said = ::open((folder + "/said").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ::dup2(said, STDOUT_FILENO);
    ::dup2(said, STDERR_FILENO);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  int status = 0;
  rusage used{};
  ::wait4(child, &status, 0, &used);
  const auto seconds_of = [](const timeval& t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6; };
  const double wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    fmt::print("xdc-run failed:\n{}\n", std::string(std::istreambuf_iterator<char>(std::ifstream(folder + "/said").rdbuf()), {}));
    return std::nullopt;
  }
  return Run{wall_s, seconds_of(used.ru_utime) + seconds_of(used.ru_stime), Json::parse(std::ifstream(json)).at("variants")[0]};
}

std::string describe(std::vector<double> values, const char* unit) {
  std::sort(values.begin(), values.end());
  return fmt::format("{:8.2f} {} (median of {}; {:.2f} to {:.2f})", values[values.size() / 2], unit, values.size(), values.front(),
                     values.back());
}

// The scenario's topology with a single device in each datacenter: three ranks do not wait for processors as twelve do.
std::string one_rank_each(const std::string& folder) {
  std::ifstream file(kSource / "topologies/bank_3dc.toml");
  std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::string was = "devices_per_node = 4", is = "devices_per_node = 1";
  for (size_t at = 0; (at = text.find(was, at)) != std::string::npos; at += is.size()) text.replace(at, was.size(), is);
  std::ofstream(folder + "/topology.toml") << text;
  return folder + "/topology.toml";
}

// One line: a figure of `repeats` runs after one that warms up.
template <class Figure>
bool print_figure(const std::string& folder, int repeats, const char* what, const char* unit, const Words& options, Figure figure) {
  std::vector<double> values;
  for (int repeat = -1; repeat < repeats; ++repeat) {
    const auto done = run(folder, options);
    if (!done) return false;
    if (repeat >= 0) values.push_back(figure(*done));
  }
  fmt::print("{:<62}{}\n", what, describe(values, unit));
  std::fflush(stdout);
  return true;
}

bool print_all(const std::string& folder, int repeats) {
  const auto images = [](const Run& r) { return r.variant.at("samples").get<double>() / r.variant.at("elapsed_s").get<double>(); };
  const auto step_ms = [](const Run& r) { return r.variant.at("step_time_s").at("p50").get<double>() * 1e3; };
  const auto mean_ms = [](const Run& r) { return r.variant.at("step_time_s").at("mean").get<double>() * 1e3; };
  const auto processor_ms = [](const Run& r) { return r.processor_s * 1e3 / kRanks / r.variant.at("steps").get<double>(); };
  const auto whole = [](const Run& r) { return r.wall_s; };
  const Words rehearsal{"--set", "payload=phantom", "--rehearse-without-waiting"};
  const auto with = [](Words words, const Words& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  const Words own_bytes = with(rehearsal, {"--set", "model={ kind = \"lenet\" }"});
  fmt::print("bank_ocr, hierarchical int8, {} ranks on {} cores\n", kRanks, ::sysconf(_SC_NPROCESSORS_ONLN));
  return print_figure(folder, repeats, "training", "images/s",
                      {"--device", "cpu", "--set", "train.stop={ steps = 100 }", "--set", "train.eval_every=100"}, images) &&
         print_figure(folder, repeats, "fabric and round logic, LeNet's own bytes, median step", "ms",
                      with(own_bytes, {"--set", "train.stop={ steps = 400 }"}), step_ms) &&
         print_figure(folder, repeats, "fabric and round logic, LeNet's own bytes, mean step", "ms",
                      with(own_bytes, {"--set", "train.stop={ steps = 400 }"}), mean_ms) &&
         print_figure(folder, repeats, "the same, processor time of a rank a step, start and end included", "ms",
                      with(own_bytes, {"--set", "train.stop={ steps = 400 }"}), processor_ms) &&
         print_figure(folder, repeats, "the same with one rank a datacenter, median step", "ms",
                      with(own_bytes, {"--set", "train.stop={ steps = 400 }", "--set", "topology=" + one_rank_each(folder)}), step_ms) &&
         print_figure(folder, repeats, "the profile's bytes (150 MB of f32), median step", "ms",
                      with(rehearsal, {"--set", "train.stop={ steps = 20 }"}), step_ms) &&
         print_figure(folder, repeats, "a run of one step of LeNet's bytes, from start to end", "s",
                      with(own_bytes, {"--set", "train.stop={ steps = 1 }"}), whole);
}

}  // namespace

int main(int argc, char** argv) {
  const int repeats = argc > 1 ? std::max(1, std::atoi(argv[1])) : 3;
  auto folder = (std::filesystem::temp_directory_path() / "xdc_rounds_XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) return 1;
  const bool fine = print_all(folder, repeats);
  std::filesystem::remove_all(folder);
  return fine ? 0 : 1;
}
