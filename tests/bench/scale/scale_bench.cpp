// What does a simulated step cost in wall-clock time and memory, from 64 ranks to 4,096?
//
//   bench_scale [--expand]
//
// scenarios/scale_1024.toml with 16, 64, 256 and 1,024 nodes in each of its four datacenters. Two runs of each variant, of a
// few and of many steps: their difference is what steps cost, the rest is what a run costs.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

namespace {

using Json = nlohmann::json;

constexpr int kFew = 3, kMany = 23;
const std::filesystem::path kSource = XDC_SOURCE_DIR;

std::string read(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

struct Run {
  bool ok = false;
  double wall_s = 0;
  long resident_kb = 0;
  Json variant;
};

Run run(std::vector<std::string> words, const std::string& json) {
  words.insert(words.begin(), XDC_SIM);
  words.insert(words.end(), {"--jobs", "1", "--json", json});
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    const int nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, STDOUT_FILENO);
    execv(argv[0], argv.data());
    _exit(127);
  }
  int status = 0;
  rusage usage{};
  wait4(child, &status, 0, &usage);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return {};
  // The simulation is a child of the program: the larger of the two is what is reported.
  const auto variant = Json::parse(read(json)).at("variants")[0];
  return {true, variant.at("wall_s").get<double>(), usage.ru_maxrss, variant};
}

// The scenario's topology with another number of nodes everywhere.
std::string topology(int nodes) {
  auto text = read(kSource / "topologies/four_dc_1024.toml");
  const std::string was = "\nnodes = 256\n", is = fmt::format("\nnodes = {}\n", nodes);
  for (size_t at = 0; (at = text.find(was, at)) != std::string::npos; at += is.size()) text.replace(at, was.size(), is);
  return text;
}

std::vector<std::string> variants() {
  std::vector<std::string> names;
  std::istringstream lines(read(kSource / "scenarios/scale_1024.toml"));
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("name = \"", 0) == 0) names.push_back(line.substr(8, line.find('"', 8) - 8));
  }
  return names;
}

}  // namespace

int main(int argc, char** argv) {
  const bool expand = argc > 1 && std::string(argv[1]) == "--expand";
  auto folder = (std::filesystem::temp_directory_path() / "xdc_scale_XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return 1;
  const auto path = [&](const char* name) { return (std::filesystem::path(folder) / name).string(); };
  fmt::print("{:<28}{:>7}{:>9}{:>9}{:>14}{:>13}{:>15}\n", "variant", "ranks", "actors", "buckets", "wall / step", "wall / run", "resident");
  bool failed = false;
  for (const auto& name : variants()) {
    for (const int nodes : {16, 64, 256, 1024}) {
      std::ofstream(path("topology.toml")) << topology(nodes);
      const auto with_steps = [&](int steps) {
        std::vector<std::string> words{
            (kSource / "scenarios/scale_1024.toml").string(), "--variant", name, "--set", "topology=" + path("topology.toml"), "--set",
            fmt::format("train.stop={{ steps = {} }}", steps)};
        if (expand) words.emplace_back("--expand");
        return run(words, path("report.json"));
      };
      const auto few = with_steps(kFew), many = with_steps(kMany);
      if (!few.ok || !many.ok) {
        fmt::print("{:<28}{:>7} did not run\n", name, 4 * nodes);
        failed = true;
        continue;
      }
      fmt::print("{:<28}{:>7}{:>9}{:>9}{:>11.1f} ms{:>11.2f} s{:>12.0f} MB\n", name, many.variant.at("ranks").get<int>(),
                 many.variant.at("actors").get<int>(), many.variant.at("buckets").get<int>(),
                 (many.wall_s - few.wall_s) / (kMany - kFew) * 1e3, few.wall_s, static_cast<double>(many.resident_kb) / 1e3);
      std::fflush(stdout);
    }
  }
  std::filesystem::remove_all(folder);
  return failed ? 1 : 0;
}
