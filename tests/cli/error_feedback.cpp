// Does error feedback do what it is for? Digits over three datacenters, one gradient in a hundred sent.
#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cli/process.hpp"

namespace xdc::cli {
namespace {

const std::filesystem::path kSource = XDC_SOURCE_DIR;

double accuracy(const std::string& codec) {
  const auto done = sim({(kSource / "scenarios/bank_ocr.toml").string(), "--variant", "hierarchical", "--set",
                         "variant.hierarchical.codec={ wan = " + codec + " }", "--set", "train.stop={ epochs = 1 }", "--set", "expect={}",
                         "--json", "-"});
  INFO(done.err);
  REQUIRE(done.exit_code == 0);
  return nlohmann::json::parse(done.out).at("variants")[0].at("accuracy");
}

TEST_CASE("top-k of 1 % with error feedback is at least 3 points better than without") {
  REQUIRE(std::filesystem::exists(kSource / "data/mnist"));  // tools/get_data mnist
  const double with = accuracy("{ kind = \"top_k\", density = 0.01 }");
  const double without = accuracy("{ kind = \"top_k\", density = 0.01, error_feedback = false }");
  CAPTURE(with, without);
  CHECK(with >= without + 0.03);
  CHECK(with >= 0.94);
}

}  // namespace
}  // namespace xdc::cli
