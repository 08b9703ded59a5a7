// Does the checker find what it is there to find, and only that? Each rule on a violation planted in a tree of its own.
#include "tests/tidy/tidy.hpp"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>

namespace xdc::tidy {
namespace {

namespace fs = std::filesystem;

class PlantedTree {
 public:
  PlantedTree() {
    std::string pattern = (fs::temp_directory_path() / "xdc-tidy-XXXXXX").string();
    root_ = mkdtemp(pattern.data());
  }
  PlantedTree(const PlantedTree&) = delete;
  PlantedTree& operator=(const PlantedTree&) = delete;
  ~PlantedTree() { fs::remove_all(root_); }

  PlantedTree& add(const std::string& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
    return *this;
  }
  PlantedTree& header(const std::string& path) { return add(path, "// What?\n#pragma once\n"); }

  std::vector<std::string> violations() const {
    std::vector<std::string> texts;
    for (const auto& violation : check_tree(root_)) {
      texts.push_back(text_of(violation));
    }
    return texts;
  }

 private:
  fs::path root_;
};

using Texts = std::vector<std::string>;

std::string banned_line(const std::string& line) {
  PlantedTree tree;
  tree.add("core/base/a.cpp", line + "\n");
  const auto found = tree.violations();
  return found.empty() ? "" : found.front();
}

}  // namespace

TEST_CASE("a tree that keeps the rules has no violations") {
  PlantedTree tree;
  tree.header("core/base/a.hpp").header("core/seam/b.hpp").header("core/math/c.hpp").header("sim/d.hpp").header("exec/host/e.hpp");
  tree.add("core/math/c.cpp",
           "#include \"core/math/c.hpp\"\n\n#include <oneapi/dnnl/dnnl.hpp>\n#include <vector>\n#include \"core/seam/b.hpp\"\n");
  tree.add("sim/d.cpp", "#include <simgrid/s4u.hpp>\n#include \"core/math/c.hpp\"\n#include \"sim/d.hpp\"\n#include <mutex>\n");
  tree.add("exec/host/e.cpp", "#include <chrono>\n#include \"core/base/a.hpp\"\n#include \"exec/host/e.hpp\"\n");
  tree.add("exec/grpc/f.cpp", "#include <grpcpp/server.h>\n#include \"exec/host/e.hpp\"\n#include \"store.pb.h\"\n");
  tree.add("exec/cuda/g.cpp", "#include <cuda_runtime_api.h>\n");
  tree.add("scenarios/s.toml", "topology = \"../topologies/t.toml\"\n").add("topologies/t.toml", "");
  tree.add("tests/cli/s.cpp", "// runs s.toml\n");
  CHECK(tree.violations() == Texts{});
}

TEST_CASE("a room of core may include lower rooms and itself, nothing beside or above it") {
  PlantedTree tree;
  tree.header("core/base/a.hpp")
      .header("core/seam/b.hpp")
      .header("core/data/c.hpp")
      .header("core/strategies/d.hpp")
      .header("core/membership/e.hpp");
  SECTION("above") {
    tree.add("core/seam/x.cpp", "#include \"core/strategies/d.hpp\"\n");
    CHECK(tree.violations() == Texts{"core/seam/x.cpp:1: dependency: core/seam includes core/strategies, which is not below it"});
  }
  SECTION("beside") {
    tree.add("core/math/x.cpp", "#include \"core/data/c.hpp\"\n");
    CHECK(tree.violations() == Texts{"core/math/x.cpp:1: dependency: core/math includes core/data, which is not below it"});
  }
  SECTION("membership lies between collectives and strategies") {
    tree.header("core/collectives/f.hpp");
    tree.add("core/membership/x.cpp", "#include \"core/collectives/f.hpp\"\n");
    tree.add("core/strategies/x.cpp", "#include \"core/membership/e.hpp\"\n");
    CHECK(tree.violations() == Texts{});
    tree.add("core/collectives/x.cpp", "#include \"core/membership/e.hpp\"\n");
    CHECK(tree.violations() ==
          Texts{"core/collectives/x.cpp:1: dependency: core/collectives includes core/membership, which is not below it"});
  }
  SECTION("a room that nobody placed") {
    tree.add("core/extras/x.cpp", "#include \"core/base/a.hpp\"\n");
    CHECK(tree.violations() == Texts{"core/extras/x.cpp:1: dependency: room core/extras has no place in the order of rooms"});
  }
}

TEST_CASE("core, sim and exec do not see each other but through core") {
  PlantedTree tree;
  tree.header("core/base/a.hpp").header("sim/b.hpp").header("exec/host/c.hpp").header("tests/d.hpp");
  tree.add("core/base/x.cpp", "#include \"sim/b.hpp\"\n#include \"exec/host/c.hpp\"\n");
  tree.add("exec/host/y.cpp", "#include \"sim/b.hpp\"\n");
  tree.add("sim/z.cpp", "#include \"exec/host/c.hpp\"\n#include \"tests/d.hpp\"\n");
  tree.add("tests/w.cpp", "#include \"exec/host/c.hpp\"\n#include \"sim/b.hpp\"\n");
  CHECK(tree.violations() == Texts{"core/base/x.cpp:1: dependency: core/ includes sim/b.hpp, which is not below it",
                                   "core/base/x.cpp:2: dependency: core/ includes exec/host/c.hpp, which is not below it",
                                   "exec/host/y.cpp:1: dependency: exec/ includes sim/b.hpp, which is not below it",
                                   "sim/z.cpp:1: dependency: sim/ includes exec/host/c.hpp, which is not below it",
                                   "sim/z.cpp:2: dependency: sim/ includes tests/d.hpp, which is not below it"});
}

TEST_CASE("a strategy never includes another, while all may share what is no strategy") {
  PlantedTree tree;
  tree.add("core/strategies/kinds.hpp", "// Which?\n#pragma once\nStrategyKind ring_kind();\nStrategyKind server_kind();\n");
  tree.header("core/strategies/ring.hpp").header("core/strategies/round.hpp");
  tree.add("core/strategies/ring.cpp", "#include \"core/strategies/ring.hpp\"\n#include \"core/strategies/round.hpp\"\n");
  tree.add("core/strategies/registry.cpp", "#include \"core/strategies/ring.hpp\"\n");
  CHECK(tree.violations() == Texts{});
  tree.add("core/strategies/server.cpp", "#include \"core/strategies/round.hpp\"\n#include \"core/strategies/ring.hpp\"\n");
  CHECK(tree.violations() == Texts{"core/strategies/server.cpp:2: dependency: strategy server includes strategy ring"});
}

TEST_CASE("each library is seen only in the rooms it belongs to") {
  PlantedTree tree;
  tree.add("exec/host/a.cpp", "#include <simgrid/s4u.hpp>\n#include <grpcpp/server.h>\n#include <cuda_runtime_api.h>\n");
  tree.add("core/report/b.cpp", "#  include <toml++/toml.h>\n#include <nccl.h>\n#include <oneapi/dnnl/dnnl.hpp>\n");
  tree.add("tools/c.cpp", "#include \"x/y.pb.h\"\n#include <cuchar>\n#include <catch2/catch.hpp>\n");
  tree.add("tests/twin/d.cpp", "#include <xbt/log.h>\n#include <linux/if_tun.h>\n");
  CHECK(tree.violations() ==
        Texts{"core/report/b.cpp:1: library: toml++ belongs to core/config/",
              "core/report/b.cpp:2: library: CUDA belongs to exec/cuda/, exec/nccl/, tests/gpu/",
              "core/report/b.cpp:3: library: oneDNN belongs to core/math/", "exec/host/a.cpp:1: library: SimGrid belongs to sim/",
              "exec/host/a.cpp:2: library: gRPC belongs to exec/grpc/, exec/etcd/",
              "exec/host/a.cpp:3: library: CUDA belongs to exec/cuda/, exec/nccl/, tests/gpu/",
              "tests/twin/d.cpp:1: library: SimGrid belongs to sim/", "tests/twin/d.cpp:2: library: TUN devices belongs to exec/emu/",
              "tools/c.cpp:1: library: protobuf's generated headers belong to exec/grpc/, exec/etcd/",
              "tools/c.cpp:3: library: Catch2 belongs to tests/"});
}

TEST_CASE("our headers are included in quotes, from the root, and exist") {
  PlantedTree tree;
  tree.header("core/base/a.hpp");
  tree.add("core/base/a.cpp",
           "#include \"a.hpp\"\n#include <core/base/a.hpp>\n#include \"core/base/gone.hpp\"\n#include \"../base/a.hpp\"\n");
  CHECK(tree.violations() ==
        Texts{"core/base/a.cpp:1: include from the root: \"a.hpp\" is not written from the repository's root",
              "core/base/a.cpp:2: include from the root: core/base/a.hpp is ours: write it in quotes",
              "core/base/a.cpp:3: include from the root: core/base/gone.hpp does not exist",
              "core/base/a.cpp:4: include from the root: \"../base/a.hpp\" is not written from the repository's root"});
}

TEST_CASE("core may not take time, chance, threads or the environment from elsewhere than the seam") {
  for (const std::string line :
       {"#include <chrono>", "#include <mutex>", "#include <thread>", "#include <random>", "auto t = std::time(nullptr);",
        "::getenv(\"HOME\");", "std::uniform_int_distribution<int> d;", "clock_gettime(CLOCK_MONOTONIC, &t);", "int r = rand();",
        "thread_local int x;", "pthread_mutex_t m;", "std::shuffle(a, b, c);", "std::this_thread::sleep_for(x);"}) {
    INFO(line);
    CHECK(banned_line(line).find("core/base/a.cpp:1: banned in core: ") == 0);
  }
  for (const std::string line : {"int operand(int grand);", "// std::mutex and getenv are not used", "log(\"getenv\");",
                                 "auto brand = strand;", "/* rand() */ int x;", "const char* s = R\"(getenv rand())\";",
                                 "int64_t time = 1'000'000; char c = '\"'; f(\"rand()\");", "uint32_t random_word(int getenv_like);"}) {
    INFO(line);
    CHECK(banned_line(line).empty());
  }
  PlantedTree elsewhere;
  elsewhere.add("exec/host/a.cpp", "#include <chrono>\nauto* home = getenv(\"HOME\");\n");
  CHECK(elsewhere.violations() == Texts{});
}

TEST_CASE("comments over several lines hide what stands in them and nothing after") {
  PlantedTree tree;
  tree.add("core/base/a.cpp",
           "/* getenv\n   rand() */ int a;\n/* x */ int b = rand();  // rand()\nauto s = R\"x(\ngetenv )\" getenv\n)x\"; getenv(s);\n");
  CHECK(tree.violations() ==
        Texts{"core/base/a.cpp:3: banned in core: rand: draws come from core/base/rng",
              "core/base/a.cpp:6: banned in core: getenv: what a run does is in its scenario, not in the environment"});
}

TEST_CASE("nobody catches everything, asserts, or throws outside the tests") {
  PlantedTree tree;
  tree.add("tests/a.cpp", "void f() {\n  try {\n    throw 1;\n  } catch (\n      ...) {\n  }\n}\n");
  tree.add("sim/b.cpp", "#include <cassert>\nvoid g() { throw 1; }\nvoid h() { try { } catch (const E& e) { } }\n");
  CHECK(tree.violations() == Texts{"sim/b.cpp:1: banned: <cassert>: XDC_CHECK is always on, assert is not",
                                   "sim/b.cpp:2: banned: throw: expected failures are Result or Status, bugs are XDC_CHECK",
                                   "tests/a.cpp:4: catch-all: exceptions are caught by named type"});
}

TEST_CASE("a scenario or topology that nobody uses is found") {
  PlantedTree tree;
  tree.add("scenarios/used.toml", "topology = \"../topologies/by_scenario.toml\"\n").add("scenarios/lonely.toml", "");
  tree.add("topologies/by_scenario.toml", "").add("topologies/lonely_topology.toml", "");
  tree.add("tests/cli/a.cpp", "run(\"scenarios/used.toml\");\n").add("tests/tidy/b.cpp", "lonely.toml\n");
  CHECK(tree.violations() ==
        Texts{"scenarios/lonely.toml: unregistered: no test and not the README names lonely.toml",
              "topologies/lonely_topology.toml: unregistered: no test and not the README names lonely_topology.toml, nor a scenario"});
  tree.add("README.md", "xdc-sim scenarios/lonely.toml, topologies/lonely_topology.toml\n");
  CHECK(tree.violations() == Texts{});
}

TEST_CASE("paths of one machine, work left over, long files and headers without their opening are found") {
  PlantedTree tree;
  const std::string home = "/ho" + std::string("me/");
  tree.add("README.md", "run it in " + home + "me/xdc\n" + "see a" + home + "b and $HOME" + home + "c\n");
  tree.add("sim/a.cpp", "// TO" + std::string("DO: later\n"));
  tree.add("sim/b.hpp", "#pragma once\n").add("sim/c.hpp", "// What?\n");
  std::string lines;
  for (int i = 0; i < 401; ++i) {
    lines += "int a;\n";
  }
  tree.add("sim/d.cpp", lines);
  CHECK(tree.violations() == Texts{"README.md:1: absolute path: a path of one machine: " + home + "me/xdc",
                                   "sim/a.cpp:1: left over: do it, or write down as a limit what is not done",
                                   "sim/b.hpp:1: first comment: a header opens with a comment that says which question it answers",
                                   "sim/c.hpp: pragma once: a header has #pragma once", "sim/d.cpp: length: 401 lines, more than 400"});
}

TEST_CASE("what is built or fetched is not looked at") {
  PlantedTree tree;
  tree.add("build/x/a.cpp", "#include <cassert>\n").add("data/b.md", "TO" + std::string("DO\n")).add(".git/c.hpp", "x\n");
  CHECK(tree.violations() == Texts{});
}

}  // namespace xdc::tidy
