#include "exec/launcher/fingerprint.hpp"

#include <catch2/catch.hpp>

namespace xdc {
namespace {

using Catch::Contains;

Fingerprint of(const std::string& build, const std::string& processor) {
  return {{"version", "1"},         {"build", build}, {"scenario", "d"},        {"checkpoints", "none"}, {"numerics", "portable"},
          {"instructions", "AVX2"}, {"oneDNN", "2"},  {"processor", processor}, {"variants", "a, b"}};
}

TEST_CASE("equal fingerprints have no differences") {
  CHECK(differences({{"beijing rank 0", of("x", "p")}, {"shanghai rank 1", of("x", "p")}}, {}).empty());
}

TEST_CASE("differences say who has which value, grouped, and only of the facts that differ") {
  const auto table =
      differences({{"beijing rank 0", of("x", "p")}, {"shanghai rank 1", of("y", "p")}, {"guangzhou rank 2", of("x", "p")}}, {});
  CHECK_THAT(table, Contains("build: ") && Contains("beijing rank 0; guangzhou rank 2"));
  CHECK(table.find("processor") == std::string::npos);
  CHECK_THAT(table, !Contains("--allow-mismatch"));
}

TEST_CASE("a processor may differ when that is allowed, and the table says how to allow it") {
  const std::vector<std::pair<std::string, Fingerprint>> two{{"a rank 0", of("x", "p")}, {"b rank 1", of("x", "q")}};
  CHECK_THAT(differences(two, {}), Contains("processor") && Contains("--allow-mismatch processor, at every launcher"));
  CHECK(differences(two, {"processor"}).empty());
}

TEST_CASE("a fact that somebody does not say differs from one that is said") {
  CHECK_THAT(differences({{"a rank 0", of("x", "p")}, {"b rank 1", {{"version", "1"}}}}, {}), Contains("(not said)"));
}

TEST_CASE("only what cannot change results may be allowed to differ") {
  CHECK(check_allowed({}).ok());
  for (const FactRule& rule : fact_rules()) {
    const Status status = check_allowed({rule.key});
    CHECK(status.ok() == rule.may_differ);
    if (!status.ok()) CHECK_THAT(status.error().message, Contains("it can change results") && Contains(rule.why));
  }
  CHECK_THAT(check_allowed({"procesor"}).error().message, Contains("did you mean \"processor\""));
}

TEST_CASE("a machine's own fingerprint has every fact but the variants, which the caller adds") {
  RunSpec spec;
  spec.scenario_digest = "digest";
  const auto facts = take_fingerprint(spec, "1", "b", true);
  REQUIRE(facts.ok());
  for (const FactRule& rule : fact_rules()) {
    int count = 0;
    for (const auto& [key, value] : facts.value()) {
      count += key == rule.key ? 1 : 0;
      CHECK_FALSE(value.empty());
    }
    CHECK(count == (rule.key == "variants" ? 0 : 1));
  }
}

}  // namespace
}  // namespace xdc
