// Does error feedback do what it is for? Digits over three datacenters, one gradient in a hundred sent.
#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "tests/cli/process.hpp"

namespace xdc::cli {
namespace {

const std::filesystem::path kSource = XDC_SOURCE_DIR;

// Accuracy after the scenario's own training, with error feedback and without.
std::pair<double, double> accuracies(int seed) {
  const std::string codec = "codec={ wan = { kind = \"top_k\", density = 0.01";
  const auto done =
      sim({(kSource / "scenarios/bank_ocr.toml").string(), "--variant", "hierarchical", "--variant", "hierarchical fp16", "--set",
           "variant.hierarchical." + codec + " } }", "--set", "variant.hierarchical fp16." + codec + ", error_feedback = false } }",
           "--set", "expect={}", "--seed", std::to_string(seed), "--json", "-"});
  INFO(done.err);
  REQUIRE(done.exit_code == 0);
  const auto variants = nlohmann::json::parse(done.out).at("variants");
  REQUIRE(variants[0].at("codec").at("wan").at("error_feedback") == true);
  REQUIRE(variants[1].at("codec").at("wan").at("error_feedback") == false);
  return {variants[0].at("accuracy"), variants[1].at("accuracy")};
}

TEST_CASE("top-k of 1 % with error feedback is at least 3 points better than without, as the mean of three seeds") {
  REQUIRE(std::filesystem::exists(kSource / "data/mnist"));  // tools/get_data mnist
  double with = 0, without = 0;
  for (const int seed : {7, 8, 9}) {
    const auto [feedback, none] = accuracies(seed);
    with += feedback / 3;
    without += none / 3;
  }
  CAPTURE(with, without);
  CHECK(with >= without + 0.03);
  CHECK(with >= 0.96);
}

}  // namespace
}  // namespace xdc::cli
