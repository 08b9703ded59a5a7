// Who may include whom?
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "tests/tidy/tidy.hpp"

namespace xdc::tidy {
namespace {

// base ← seam ← {math, data, config, faults, report} ← {model, optim, codec, network} ← collectives ← membership ← {checkpoint,
// strategies} ← validate ← rank_main: a room sees rooms of lower levels, and itself.
const std::map<std::string, int, std::less<>> kCoreLevels = {
    {"base", 0},       {"seam", 1},       {"math", 2},       {"data", 2},     {"config", 2},    {"faults", 2},
    {"report", 2},     {"model", 3},      {"optim", 3},      {"codec", 3},    {"network", 3},   {"collectives", 4},
    {"membership", 5}, {"checkpoint", 6}, {"strategies", 6}, {"validate", 7}, {"rank_main", 8},
};

// Which rooms the whole of a top folder may include.
const std::map<std::string, std::set<std::string>, std::less<>> kTopFolders = {
    {"core", {"core"}},
    {"sim", {"core", "sim"}},
    {"exec", {"core", "exec"}},
    {"tools", {"core", "sim", "exec", "tools"}},
    {"tests", {"core", "sim", "exec", "tools", "tests"}},
};

// A library's headers begin like this, and are seen by files below these paths only.
struct Library {
  std::string name;
  std::vector<std::string> headers;
  std::vector<std::string> rooms;
};
const std::vector<Library> kLibraries = {
    {"SimGrid", {"simgrid/", "xbt/"}, {"sim/"}},
    {"gRPC", {"grpc/", "grpcpp/", "google/protobuf/"}, {"exec/grpc/", "exec/etcd/"}},
    {"OpenSSL", {"openssl/"}, {"exec/grpc/", "tests/worlds/exec/"}},
    {"CUDA", {"cuda", "nccl", "cudnn", "cublas", "curand", "nvml"}, {"exec/cuda/", "exec/nccl/", "tests/gpu/"}},
    {"toml++", {"toml++/", "toml.hpp"}, {"core/config/"}},
    {"oneDNN", {"oneapi/", "dnnl"}, {"core/math/"}},
    {"OpenMP", {"omp.h"}, {"core/math/"}},
    {"TUN devices", {"linux/if_tun.h"}, {"exec/emu/"}},
    {"Catch2", {"catch2/", "catch.hpp"}, {"tests/"}},
    {"Google Benchmark", {"benchmark/"}, {"tests/bench/"}},
    {"prometheus-cpp", {"prometheus/"}, {"exec/metrics/"}},
    {"CLI11", {"CLI/"}, {"tools/"}},
};

// Written by CMake into the build folder, which is not the root.
const std::set<std::string, std::less<>> kGenerated = {"xdc_version.hpp"};

bool below_any(std::string_view path, const std::vector<std::string>& folders) {
  return std::ranges::any_of(folders, [&](const auto& folder) { return path.starts_with(folder); });
}

std::string top_of(std::string_view path) { return std::string(path.substr(0, path.find('/'))); }

// "core/math/x.hpp" -> "math"
std::string core_room_of(std::string_view path) {
  const auto rest = path.substr(path.find('/') + 1);
  const auto slash = rest.find('/');
  return slash == std::string_view::npos ? std::string() : std::string(rest.substr(0, slash));
}

std::string stem_of(std::string_view path) {
  const auto name = path.substr(path.rfind('/') + 1);
  return std::string(name.substr(0, name.find('.')));
}

struct Include {
  std::string name;
  bool quoted = false;
};

std::optional<Include> include_of(const std::string& line) {
  size_t i = line.find_first_not_of(" \t");
  if (i == std::string::npos || line[i] != '#') {
    return std::nullopt;
  }
  i = line.find_first_not_of(" \t", i + 1);
  if (i == std::string::npos || line.compare(i, 7, "include") != 0) {
    return std::nullopt;
  }
  const size_t open = line.find_first_of("<\"", i + 7);
  const size_t close = open == std::string::npos ? open : line.find_first_of(">\"", open + 1);
  if (close == std::string::npos) {
    return std::nullopt;
  }
  return Include{line.substr(open + 1, close - open - 1), line[open] == '"'};
}

// Each strategy has one entry in the registry: "StrategyKind ring_allreduce_kind();".
std::set<std::string> strategies_of(const std::vector<SourceFile>& tree) {
  std::set<std::string> names;
  for (const auto& file : tree) {
    if (!file.path.starts_with("core/strategies/") || !file.path.ends_with(".hpp")) {
      continue;
    }
    for (const auto& line : file.code) {
      const size_t at = line.find("StrategyKind ");
      const size_t end = line.find("_kind(");
      if (at != std::string::npos && end != std::string::npos && end > at + 13) {
        names.insert(line.substr(at + 13, end - at - 13));
      }
    }
  }
  return names;
}

class Checker {
 public:
  explicit Checker(const std::vector<SourceFile>& tree) : tree_(tree), strategies_(strategies_of(tree)) {
    for (const auto& file : tree) {
      paths_.insert(file.path);
    }
  }

  std::vector<Violation> run() {
    for (const auto& file : tree_) {
      if (file.is_cpp()) {
        for (size_t i = 0; i < file.lines.size(); ++i) {
          // From the line itself, since the code has no contents of strings; a commented include is no include.
          const auto include = file.code[i].find("include") == std::string::npos ? std::nullopt : include_of(file.lines[i]);
          if (include.has_value()) {
            where_ = {file.path, i + 1, "", ""};
            check(file.path, *include);
          }
        }
      }
    }
    return std::move(found_);
  }

 private:
  void report(const std::string& rule, const std::string& message) {
    where_.rule = rule;
    where_.message = message;
    found_.push_back(where_);
  }

  void check(const std::string& from, const Include& include) {
    const bool ours = kTopFolders.contains(top_of(include.name)) && include.name.find('/') != std::string::npos;
    if (!ours) {
      library(from, include.name);
      if (include.quoted && !include.name.ends_with(".pb.h") && !kGenerated.contains(include.name)) {
        report("include from the root", fmt::format("\"{}\" is not written from the repository's root", include.name));
      }
      return;
    }
    if (!include.quoted || (!paths_.contains(include.name) && !include.name.ends_with(".pb.h"))) {
      report("include from the root",
             fmt::format("{} {}", include.name, include.quoted ? "does not exist" : "is ours: write it in quotes"));
    }
    const auto top = kTopFolders.find(top_of(from));
    if (top != kTopFolders.end() && !top->second.contains(top_of(include.name))) {
      report("dependency", fmt::format("{}/ includes {}, which is not below it", top_of(from), include.name));
    } else if (top_of(from) == "core") {
      core(from, include.name);
    }
  }

  void core(const std::string& from, const std::string& name) {
    const auto own = kCoreLevels.find(core_room_of(from));
    const auto other = kCoreLevels.find(core_room_of(name));
    if (own == kCoreLevels.end() || other == kCoreLevels.end()) {
      report("dependency",
             fmt::format("room core/{} has no place in the order of rooms", core_room_of(own == kCoreLevels.end() ? from : name)));
      return;
    }
    if (own->first != other->first && own->second <= other->second) {
      report("dependency", fmt::format("core/{} includes core/{}, which is not below it", own->first, other->first));
    }
    const bool between_strategies = own->first == "strategies" && other->first == "strategies" && strategies_.contains(stem_of(from)) &&
                                    strategies_.contains(stem_of(name)) && stem_of(from) != stem_of(name);
    if (between_strategies) {
      report("dependency", fmt::format("strategy {} includes strategy {}", stem_of(from), stem_of(name)));
    }
  }

  void library(const std::string& from, const std::string& name) {
    for (const auto& library : kLibraries) {
      const bool its = std::ranges::any_of(library.headers, [&](const auto& prefix) { return name.starts_with(prefix); });
      // Standard headers have neither a slash nor an extension: <cuchar> is not CUDA.
      if (its && name.find_first_of("/.") != std::string::npos && !below_any(from, library.rooms)) {
        report("library", fmt::format("{} belongs to {}", library.name, fmt::join(library.rooms, ", ")));
      }
    }
    const bool generated = name.ends_with(".pb.h");
    if (generated && !below_any(from, {"exec/grpc/", "exec/etcd/"})) {
      report("library", "protobuf's generated headers belong to exec/grpc/, exec/etcd/");
    }
  }

  const std::vector<SourceFile>& tree_;
  const std::set<std::string> strategies_;
  std::set<std::string> paths_;
  Violation where_;
  std::vector<Violation> found_;
};

}  // namespace

std::vector<Violation> check_includes(const std::vector<SourceFile>& tree) { return Checker(tree).run(); }

}  // namespace xdc::tidy
