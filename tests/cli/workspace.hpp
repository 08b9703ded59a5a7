// A folder with a small scenario and its topology, for one test to spoil.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace xdc::cli {

class Workspace {
 public:
  Workspace();
  ~Workspace();
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  // A file of the folder, as a path.
  std::string path(std::string_view name) const { return (folder_ / name).string(); }
  std::string write(std::string_view name, std::string_view text) const;
  std::string read(std::string_view name) const;

  // scenario.toml and topology.toml as they are when nothing is spoiled. Two datacenters, a linear model, three variants:
  // "ps", "ring", "tree". Runs in a fraction of a second.
  static std::string scenario_text();
  static std::string topology_text();
  std::string scenario() const { return path("scenario.toml"); }

  // scenario.toml or topology.toml with the first `from` replaced, which must be there.
  void replace_in(std::string_view file, std::string_view from, std::string_view to) const;

 private:
  std::filesystem::path folder_;
};

}  // namespace xdc::cli
