// Every scenario and topology of the repository: none may rot.
#include <catch2/catch.hpp>
#include <filesystem>
#include <set>

#include "tests/cli/process.hpp"
#include "tests/cli/report_of.hpp"
#include "tests/cli/workspace.hpp"

namespace xdc::cli {
namespace {

using Catch::Contains;

const std::filesystem::path kSource = XDC_SOURCE_DIR;

std::set<std::filesystem::path> toml_files(const char* folder) {
  std::set<std::filesystem::path> out;
  for (const auto& entry : std::filesystem::directory_iterator(kSource / folder)) {
    if (entry.path().extension() == ".toml") out.insert(entry.path());
  }
  return out;
}

bool has_mnist() { return std::filesystem::exists(kSource / "data/mnist/train-images-idx3-ubyte"); }

TEST_CASE("every scenario is valid") {
  const auto files = toml_files("scenarios");
  CHECK(files.size() >= 2);
  for (const auto& file : files) {
    std::vector<std::string> arguments{file.string(), "--validate"};
    // Without the digits, all but the data is checked.
    if (file.stem() == "bank_ocr" && !has_mnist()) {
      arguments.insert(arguments.end(), {"--set", "data={ source = \"generated\", train_samples = 60000, test_samples = 100 }"});
    }
    const auto done = sim(arguments);
    INFO(file << "\n" << done.err);
    CHECK(done.exit_code == 0);
  }
}

TEST_CASE("every topology takes a phantom step of every strategy") {
  const auto files = toml_files("topologies");
  CHECK(files.size() >= 3);
  for (const auto& file : files) {
    const Workspace workspace;
    workspace.replace_in("scenario.toml", "samples = { beijing = 640, shanghai = 320 }\n", "");
    workspace.replace_in("scenario.toml", "strategy = { kind = \"parameter_server\", placement = \"beijing\" }",
                         "strategy = { kind = \"ring_allreduce\", order = \"interleaved\" }");
    const auto done = sim({workspace.scenario(), "--set", "topology=" + file.string(), "--set", "payload=phantom", "--set",
                           "train.stop={ steps = 1 }", "--set", "data.train_samples=100000"});
    INFO(file << "\n" << done.err << done.out);
    CHECK(done.exit_code == 0);
    CHECK_THAT(done.out, Contains("equal to the closed forms"));
  }
}

TEST_CASE("quickstart runs, and all of its variants learn") {
  const auto done = sim({(kSource / "scenarios/quickstart.toml").string(), "--set", "expect.accuracy_at_least=0.9"});
  INFO(done.out << done.err);
  CHECK(done.exit_code == 0);
}

TEST_CASE("scale_1024 runs, in sixteen buckets, with few ranks that act for all") {
  const auto report = report_of({(kSource / "scenarios/scale_1024.toml").string()});
  REQUIRE(report.at("variants").size() == 4);
  for (const auto& v : report.at("variants")) {
    INFO(v.at("name"));
    CHECK(v.at("ranks") == 1024);
    CHECK(v.at("buckets") == 16);
    CHECK(v.at("actors").get<int>() < 100);
    for (const auto& link : v.at("links")) CHECK(link.at("payload_bytes_per_step") == link.at("closed_form_bytes_per_step"));
  }
  // 12.85 G parameters: 2 S / D for every ordered pair, S to and from the servers' datacenter.
  const double gradient = 4.0 * 12'853'386'240;
  CHECK(report.at("variants")[0].at("links")[0].at("payload_bytes_per_step").get<double>() == Approx(gradient / 2).epsilon(1e-3));
  CHECK(report.at("variants")[2].at("links")[0].at("payload_bytes_per_step").get<double>() == Approx(gradient));
}

TEST_CASE("bank_ocr runs for a few steps") {
  if (!has_mnist()) {
    WARN("not run: data/mnist is not there (tools/get_data mnist)");
    return;
  }
  const auto done = sim({(kSource / "scenarios/bank_ocr.toml").string(), "--set", "train.stop={ steps = 6 }", "--set", "expect={}"});
  INFO(done.out << done.err);
  CHECK(done.exit_code == 0);
  CHECK_THAT(done.out, Contains("equal to the closed forms"));
}

}  // namespace
}  // namespace xdc::cli
