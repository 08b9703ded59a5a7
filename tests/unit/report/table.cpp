#include "core/report/table.hpp"

#include <catch2/catch.hpp>
#include <sstream>

#include "core/report/text.hpp"
#include "tests/unit/report/example.hpp"

namespace xdc {
namespace {

using Catch::Contains;

RunReport two_variants() {
  auto run = example_run();
  run.variants.push_back(assemble(example_facts(), example_members()).value());
  auto facts = example_facts();
  facts.name = "hierarchical fp16";
  auto members = example_members();
  for (auto& member : members) {
    for (auto& step : member.steps) step.duration_ns = step.duration_ns * 2, step.end_ns = step.end_ns * 2;
  }
  members[0].evaluations[1].time_ns = 80'000'000;
  members[0].evaluations[1].accuracy = 0.97;
  run.variants.push_back(assemble(facts, members).value());
  return run;
}

int widest(const std::string& text) {
  std::istringstream lines(text);
  int out = 0;
  for (std::string line; std::getline(lines, line);) out = std::max(out, display_width(line));
  return out;
}

TEST_CASE("the table shows every variant and says which is best for what") {
  const auto text = render_table(two_variants(), {});
  CHECK(text == R"(scenarios/bank_ocr.toml: lenet on mnist, 3 ranks in 2 datacenters, seed 7

                    step     at  exposed  devices       WAN  time to     final   time for
variant             time  least     comm     busy  per step     90 %  accuracy  all steps
─────────────────────────────────────────────────────────────────────────────────────────
central PS         10 ms   6 ms     4 ms     50 %     150 B    40 ms   95.00 %      40 ms
hierarchical fp16  20 ms   6 ms    14 ms     25 %     150 B    80 ms   97.00 %      80 ms

Payload per step on each line (equal to the closed forms)
                   beijing →  shanghai →
variant             shanghai     beijing
────────────────────────────────────────
central PS             100 B        50 B
hierarchical fp16      100 B        50 B

best for time       central PS: 90 % after 40 ms (hierarchical fp16: 90 % after 80 ms, 2.0×)
  why               hierarchical fp16: 30 % computation of the slowest rank; central PS: 60 % computation of the slowest
                    rank
  would change      cannot tell where: central PS: its messages do not take the topology's lines
best for bytes      150 B a step between datacenters (all alike)
best for accuracy   hierarchical fp16: 97.00 % (central PS: 95.00 %)
cost                not priced: a topology's datacenters may have device_price_per_hour and egress_price_per_gb
)");
}

TEST_CASE("no escape sequence without colour, and the same words with it") {
  const auto plain = render_table(two_variants(), {});
  CHECK(plain.find('\x1b') == std::string::npos);
  auto coloured = render_table(two_variants(), {true, 120});
  CHECK(coloured.find("\x1b[32m") != std::string::npos);
  for (size_t at; (at = coloured.find('\x1b')) != std::string::npos;) coloured.erase(at, coloured.find('m', at) - at + 1);
  CHECK(coloured == plain);
}

TEST_CASE("what is not known or not reached is shown as such") {
  auto run = two_variants();
  run.variants[0].accuracy = run.variants[0].loss = run.variants[0].time_to_target_s = std::nullopt;
  run.variants[1].time_to_target_s = std::nullopt;
  const auto text = render_table(run, {});
  CHECK_THAT(text, Contains("–") && Contains("not reached") && Contains("10 ms a step"));
}

TEST_CASE("what is priced and whose lines are known has columns for both") {
  auto run = example_run();
  auto facts = facts_with_lines();
  facts.device_price_per_hour = {3.6e3, 7.2e3};
  facts.egress_price_per_gb = {1e6, 2e6};
  run.variants.push_back(assemble(facts, example_members()).value());
  const auto text = render_table(run, {});
  CHECK_THAT(text, Contains("cost to") && Contains("line") && Contains("12 %") && !Contains("not priced"));
}

TEST_CASE("a phantom run has no columns for what it does not have") {
  auto run = two_variants();
  for (auto& variant : run.variants) variant.accuracy = variant.loss = variant.time_to_target_s = std::nullopt;
  CHECK_THAT(render_table(run, {}), !Contains("accuracy") && !Contains("time to ") && Contains("step"));
}

TEST_CASE("a violated bound stands below the table") {
  auto run = two_variants();
  run.variants[1].bound.violated = {"the time is below its lower bound"};
  CHECK_THAT(render_table(run, {}), Contains("hierarchical fp16: bound violated: the time is below its lower bound"));
}

TEST_CASE("a narrow terminal gets the same columns in blocks, each with the names") {
  const auto text = render_table(two_variants(), {false, 60});
  std::istringstream lines(text.substr(text.find("variant"), text.find("Payload") - text.find("variant")));
  for (std::string line; std::getline(lines, line);) CHECK(display_width(line) <= 60);
  CHECK_THAT(text, Contains("time for") && Contains("exposed"));
  CHECK(text.find("central PS ") != text.rfind("central PS "));
}

TEST_CASE("failures, warnings and missed expectations stand below the table") {
  auto run = two_variants();
  run.variants[0].warnings = {"bytes are off"};
  run.variants[0].expectations = {{"accuracy_at_least", 0.97, 0.95, false}, {"loss_at_most", 1, std::nullopt, std::nullopt}};
  run.variants.push_back(failed_variant(example_facts(), "beijing rank 1: round 3: waited 60 s"));
  const auto text = render_table(run, {});
  CHECK_THAT(text, Contains("central PS: warning: bytes are off"));
  CHECK_THAT(text, Contains("central PS: expectation not met: accuracy_at_least = 0.97, but it is 0.95"));
  CHECK_THAT(text, Contains("central PS: loss_at_most = 1 was not checked: the payload is phantom"));
  CHECK_THAT(text, Contains("central PS did not finish: beijing rank 1: round 3: waited 60 s"));
}

TEST_CASE("many datacenters with long names still fit the width") {
  auto run = two_variants();
  run.variants[0].name = std::string(100, 'n');
  run.variants[1].name = "分层归约";
  for (auto& variant : run.variants) {
    variant.links.clear();
    for (int a = 0; a < 4; ++a) {
      for (int b = 0; b < 4; ++b) {
        if (a != b) variant.links.push_back({"datacenter-number-" + std::to_string(a), "上海" + std::to_string(b), 1, 1000, 1, 1000});
      }
    }
  }
  const auto text = render_table(run, {false, 120});
  CHECK(widest(text) <= 120);
  CHECK(widest(text) > 80);
}

TEST_CASE("when nothing finished there is no table, only why") {
  auto run = example_run();
  run.variants.push_back(failed_variant(example_facts(), "no way"));
  const auto text = render_table(run, {});
  CHECK_THAT(text, Contains("did not finish: no way") && !Contains("variant "));
}

}  // namespace
}  // namespace xdc
