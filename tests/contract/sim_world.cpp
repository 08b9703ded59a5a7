// The simulated world. A process can hold one SimGrid engine, so every run is a child of its own that sends its notes back.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

#include "core/math/cpu_kernels.hpp"
#include "core/math/null_kernels.hpp"
#include "sim/run.hpp"
#include "tests/contract/world.hpp"

namespace xdc::contract {
namespace {

WorldSpec world_spec(const Setting& setting) {
  WorldSpec spec{setting.topology, setting.cluster, {}, setting.payload, "contract"};
  spec.devices.assign(setting.cluster.members.size(), {"cpu", 1e11, 1e10, int64_t{4} << 30, "made up"});
  return spec;
}

void run_here(const Setting& setting, const Body& body) {
  CpuKernels real;
  NullKernels none;
  Kernels& arithmetic = setting.payload == PayloadKind::real ? static_cast<Kernels&>(real) : none;
  if (const auto end = run_world(world_spec(setting), arithmetic, {}, body); !end.ok()) {
    note(end.error().message);
  }
}

class SimWorldOfTests final : public World {
 public:
  std::string name() const override { return "sim"; }
  bool is_virtual_time() const override { return true; }
  bool has_native_collectives() const override { return true; }

  std::vector<std::string> run(const Setting& setting, const Body& body) override {
    int pipe_ends[2];
    if (pipe(pipe_ends) != 0) {
      return {"pipe() failed"};
    }
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
      close(pipe_ends[0]);
      std::signal(SIGABRT, SIG_DFL);  // a failed check ends this process, not Catch2's test case
      run_here(setting, body);
      for (const auto& problem : take_notes()) {
        const std::string line = problem + '\0';
        if (write(pipe_ends[1], line.data(), line.size()) < 0) _exit(1);
      }
      _exit(0);
    }
    close(pipe_ends[1]);
    return collect(child, pipe_ends[0]);
  }

 private:
  static std::vector<std::string> collect(pid_t child, int from) {
    std::vector<std::string> problems;
    std::string text;
    char bytes[4096];
    for (ssize_t n = read(from, bytes, sizeof bytes); n > 0; n = read(from, bytes, sizeof bytes)) {
      text.append(bytes, static_cast<size_t>(n));
    }
    close(from);
    for (size_t at = 0; at < text.size();) {
      const auto end = text.find('\0', at);
      problems.push_back(text.substr(at, end - at));
      at = end + 1;
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
      problems.push_back("the simulating process ended with status " + std::to_string(status));
    }
    return problems;
  }
};

}  // namespace

World& world() {
  static SimWorldOfTests the_world;
  return the_world;
}

}  // namespace xdc::contract
