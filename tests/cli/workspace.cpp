#include "tests/cli/workspace.hpp"

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace xdc::cli {

Workspace::Workspace() {
  auto pattern = (std::filesystem::temp_directory_path() / "xdc_cli_XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no folder for the test");
  folder_ = pattern;
  write("scenario.toml", scenario_text());
  write("topology.toml", topology_text());
}

Workspace::~Workspace() { std::filesystem::remove_all(folder_); }

std::string Workspace::write(std::string_view name, std::string_view text) const {
  std::ofstream(folder_ / name, std::ios::binary) << text;
  return path(name);
}

std::string Workspace::read(std::string_view name) const {
  std::ostringstream out;
  out << std::ifstream(folder_ / name, std::ios::binary).rdbuf();
  return out.str();
}

void Workspace::replace_in(std::string_view file, std::string_view from, std::string_view to) const {
  auto text = read(file);
  const auto at = text.find(from);
  if (at == std::string::npos) throw std::runtime_error("the workspace has no such text: " + std::string(from));
  write(file, text.replace(at, from.size(), to));
}

std::string Workspace::topology_text() {
  return R"([[datacenter]]
name = "beijing"
nodes = 2
lan = { bandwidth = "10 Gbps", latency = "50 us" }

[[datacenter]]
name = "shanghai"
lan = { bandwidth = "10 Gbps", latency = "50 us" }

[[link]]
between = ["beijing", "shanghai"]
bandwidth = "100 Mbps"
latency = "10 ms"
)";
}

std::string Workspace::scenario_text() {
  return R"(topology = "topology.toml"
seed = 3

[model]
kind = "linear"

[data]
source = "generated"
train_samples = 960
test_samples = 200
height = 8
width = 8
classes = 4
samples = { beijing = 640, shanghai = 320 }

[train]
batch_per_rank = 16
optimizer = { kind = "sgd", lr = 0.1 }
stop = { epochs = 1 }
eval_every = 5

[[variant]]
name = "ps"
strategy = { kind = "parameter_server", placement = "beijing" }

[[variant]]
name = "ring"
strategy = { kind = "ring_allreduce" }

[[variant]]
name = "tree"
strategy = { kind = "hierarchical_allreduce" }
codec = { wan = { kind = "fp16" } }
)";
}

}  // namespace xdc::cli
