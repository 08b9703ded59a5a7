#include <catch2/catch.hpp>

#include "core/report/run_report.hpp"
#include "tests/unit/report/example.hpp"

namespace xdc {
namespace {

using Catch::Contains;

RunReport run_with(VariantReport variant) {
  auto run = example_run();
  run.variants.push_back(std::move(variant));
  return run;
}

TEST_CASE("the JSON has bounds, use of lines and the words below the table") {
  auto run = example_run();
  for (const auto* name : {"a", "b"}) {
    auto facts = facts_with_lines();
    facts.name = name;
    run.variants.push_back(assemble(facts, example_members()).value());
  }
  const auto text = to_json(run);
  CHECK_THAT(text, Contains("\"lower_bound_s\"") && Contains("\"by\": \"computation of shanghai rank 2\"") &&
                       Contains("\"violated_bounds\": []") && Contains("\"utilisation\": 0.12") &&
                       Contains("\"rate_bytes_per_s\": 100000") && Contains("\"to_target\": null") && Contains("\"samples\": 96"));
  CHECK_THAT(text, Contains("\"comparison\"") && Contains("\"for\": \"bytes\"") && Contains("\"compared\": \"all alike\""));
}

TEST_CASE("the JSON has schema 1's keys in a stable order") {
  const auto text = to_json(run_with(assemble(example_facts(), example_members()).value()));
  size_t at = 0;
  for (const auto* key : {"\"schema\": 1",
                          "\"program\": \"xdc-sim\"",
                          "\"version\"",
                          "\"scenario\"",
                          "\"scenario_digest\"",
                          "\"seed\": 7",
                          "\"simgrid\"",
                          "\"variants\"",
                          "\"name\": \"central PS\"",
                          "\"strategy\"",
                          "\"codec\"",
                          "\"ranks\": 3",
                          "\"steps\": 4",
                          "\"elapsed_s\": 0.04",
                          "\"step_time_s\"",
                          "\"mean\": 0.01",
                          "\"p50\"",
                          "\"p95\"",
                          "\"compute_s\": 0.006",
                          "\"exposed_communication_s\": 0.004",
                          "\"device_utilisation\": 0.5",
                          "\"samples_per_s\": 2400.0",
                          "\"links\"",
                          "\"bytes\": 480",
                          "\"payload_bytes_per_step\": 100,",
                          "\"closed_form_bytes_per_step\": 100",
                          "\"loss\": 0.25",
                          "\"accuracy\": 0.95",
                          "\"time_to_target_s\": 0.04",
                          "\"cost\"",
                          "\"total\": null",
                          "\"faults\"",
                          "\"rounds_committed\": 4",
                          "\"updates_lost\": 0",
                          "\"stall_s\"",
                          "\"parameters_digest\": \"d1\"",
                          "\"series\"",
                          "\"wall_s\""}) {
    INFO(key);
    const auto found = text.find(key, at);
    REQUIRE(found != std::string::npos);
    at = found;
  }
  CHECK(text.back() == '\n');
}

TEST_CASE("a phantom's scores are null") {
  auto members = example_members();
  for (auto& member : members) member.parameters_digest.clear();
  members[0].evaluations.clear();
  const auto text = to_json(run_with(assemble(example_facts(), members).value()));
  CHECK_THAT(text, Contains("\"loss\": null,\n      \"accuracy\": null,\n      \"time_to_target_s\": null") &&
                       Contains("\"parameters_digest\": null"));
}

TEST_CASE("a variant that failed says why and claims nothing else") {
  const auto text = to_json(run_with(failed_variant(example_facts(), "beijing rank 1: timeout")));
  CHECK_THAT(text, Contains("\"error\": \"beijing rank 1: timeout\"") && !Contains("step_time_s"));
}

TEST_CASE("a loss that is no number is null, not broken JSON") {
  auto members = example_members();
  members[0].steps[0].loss = std::nan("");
  const auto text = to_json(run_with(assemble(example_facts(), members).value()));
  CHECK_THAT(text, Contains("null") && !Contains("nan"));
}

}  // namespace
}  // namespace xdc
