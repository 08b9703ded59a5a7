// Do ways of training that should learn the same learn the same, and move what their formulas say?
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/cli/process.hpp"
#include "tests/cli/report_of.hpp"
#include "tests/cli/workspace.hpp"

namespace xdc::cli {
namespace {

using Catch::Contains;
using Json = nlohmann::json;

// The only variant left, with more --set.
Json tree(const Workspace& workspace, const std::vector<std::string>& sets) {
  std::vector<std::string> arguments{workspace.scenario(), "--variant", "tree"};
  for (const auto& set : sets) {
    arguments.insert(arguments.end(), {"--set", set});
  }
  return report_of(arguments).at("variants")[0];
}

std::vector<double> losses(const Json& variant) { return variant.at("series").at("loss"); }

double wan_bytes_per_step(const Json& variant) {
  double sum = 0;
  for (const auto& link : variant.at("links")) {
    CHECK(link.at("payload_bytes_per_step") == link.at("closed_form_bytes_per_step"));
    sum += link.at("payload_bytes_per_step").get<double>();
  }
  return sum;
}

void check_close(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    CHECK(a[i] == Approx(b[i]).epsilon(1e-3));
  }
}

TEST_CASE("two micro-batches of half the size train as one batch, at twice the launches and the same bytes") {
  const Workspace workspace;
  const auto whole = tree(workspace, {"train.batch_per_rank=16"});
  const auto halves = tree(workspace, {"train.batch_per_rank=8", "train.accumulation_steps=2"});
  check_close(losses(whole), losses(halves));
  CHECK(whole.at("accuracy").get<double>() == Approx(halves.at("accuracy").get<double>()).margin(0.011));
  CHECK(wan_bytes_per_step(whole) == wan_bytes_per_step(halves));
  // Fewer updates for the same samples than with steps of one micro-batch.
  CHECK(tree(workspace, {"train.batch_per_rank=8"}).at("steps") == 2 * halves.at("steps").get<int>());
}

TEST_CASE("averaging after every plain gradient step is averaging gradients") {
  const Workspace workspace;
  const auto gradients = tree(workspace, {});
  const auto parameters = tree(workspace, {"variant.tree.strategy={ kind = \"local_sgd\", period = 1 }"});
  check_close(losses(gradients), losses(parameters));
  CHECK(parameters.at("steps") == gradients.at("steps"));
  CHECK(wan_bytes_per_step(parameters) == wan_bytes_per_step(gradients));
  CHECK(parameters.at("faults").at("updates_lost") == 0);
}

TEST_CASE("local steps cross the line once a period, and a run ends with a whole period") {
  const Workspace workspace;
  const auto gradients = tree(workspace, {});
  const auto local = tree(workspace, {"variant.tree.strategy={ kind = \"local_sgd\", period = 8 }"});
  CHECK(gradients.at("steps") == 20);
  CHECK(local.at("steps") == 24);
  CHECK(wan_bytes_per_step(local) == wan_bytes_per_step(gradients) / 8);
  CHECK(local.at("series").at("loss").size() == 24);
  CHECK(local.at("faults").at("rounds_committed") == 3);
  CHECK(local.at("faults").at("updates_lost") == 0);
  CHECK(local.at("elapsed_s").get<double>() < gradients.at("elapsed_s").get<double>());
  // Ranks that go apart learn something else.
  CHECK(losses(local)[12] != losses(gradients)[12]);
  const auto accuracy = local.at("series").at("accuracy");
  for (size_t i = 0; i < accuracy.size(); ++i) {
    CHECK(accuracy[i].is_null() == (i + 1 != 8 && i + 1 != 16 && i + 1 != 24));  // every 5 steps: at the next agreed state
  }
}

TEST_CASE("what cannot be accumulated or averaged is refused with the reason") {
  const Workspace workspace;
  const auto refused = [&](const std::string& set, const std::string& reason) {
    const auto done = sim({workspace.scenario(), "--set", set});
    CHECK(done.exit_code == 2);
    CHECK_THAT(done.err, Contains(reason));
  };
  refused("train.accumulation_steps=0", "accumulation_steps");
  refused("train.accumulation_steps=1.5", "accumulation_steps");
  refused("train.accumulation_steps=1000", "1000 of them in a step");
  refused("variant.tree.strategy={ kind = \"local_sgd\" }", "period");
  refused("variant.tree.strategy={ kind = \"local_sgd\", period = 0 }", "period");
  refused("variant.tree.strategy={ kind = \"local_sgd\", period = 4, average = true }", "average");
}

}  // namespace
}  // namespace xdc::cli
