#include "core/report/verdicts.hpp"

#include <catch2/catch.hpp>

#include "core/report/step_model.hpp"
#include "tests/unit/report/example.hpp"

namespace xdc {
namespace {

using Catch::Contains;

// A line of 1 MB/s and 20 ms in both directions; a step is `crossings` latencies and `kilobytes` of wire after another.
VariantReport variant(const std::string& name, double crossings, double kilobytes) {
  VariantReport v;
  v.name = name;
  v.steps = 10;
  v.samples = 1000;
  v.compute_s = 0.002;
  const auto bytes = static_cast<int64_t>(kilobytes * 1000);
  for (const auto& [from, to] : {std::pair("beijing", "shanghai"), std::pair("shanghai", "beijing")}) {
    LinkReport link;
    link.from = from;
    link.to = to;
    link.bytes = link.payload_bytes = bytes * 10;
    link.closed_form_bytes_of_a_step = kilobytes * 1000;
    link.rounds = 10;
    link.closed_form_bytes = bytes * 10;
    link.line = LinkReport::Line{1e6, 0.02, 0, 0.5};
    v.links.push_back(link);
  }
  v.chains = {{1, {{{0}, crossings, 1}}}};
  v.step_mean_s = v.compute_s + crossings * 0.02 + kilobytes / 1000;
  v.elapsed_s = v.step_mean_s * 10;
  v.samples_per_s = 1000 / v.elapsed_s;
  return v;
}

RunReport run_of(std::vector<VariantReport> variants) {
  auto run = example_run();
  run.target = std::nullopt;
  run.variants = std::move(variants);
  return run;
}

Verdict time_verdict(const RunReport& run) {
  const auto all = verdicts(run);
  REQUIRE_FALSE(all.empty());
  REQUIRE(all[0].what == "time");
  return all[0];
}

TEST_CASE("the parts of a step by formula add up to it") {
  const auto parts = step_parts(variant("a", 3, 40)).value();
  CHECK(parts.compute_s == Approx(0.002));
  CHECK(parts.latency_s == Approx(0.06));
  CHECK(parts.rate_s == Approx(0.04));
  CHECK(parts.crossings == 3);
  CHECK(parts.line == 0);
}

TEST_CASE("of several chains the slowest makes the step, and of a route the narrowest line") {
  auto v = variant("a", 1, 10);
  v.chains.push_back({0.5, {{{0, 1}, 2, 0.5}}});
  v.links[1].line->rate = 0.1e6;
  const auto parts = step_parts(v).value();
  CHECK(parts.seconds() == Approx(0.001 + 2 * 0.04 + 0.5 * 0.1));
  CHECK(parts.line == 1);
  CHECK(parts.crossings == 4);
}

TEST_CASE("the verdict on time names both sides' limits") {
  const auto verdict = time_verdict(run_of({variant("chatty", 4, 10), variant("bulky", 1, 50)}));
  CHECK(verdict.best == std::vector<std::string>{"bulky"});
  CHECK(verdict.value == "72 ms a step");
  CHECK(verdict.compared == "chatty: 92 ms a step, 1.3×");
  CHECK_THAT(verdict.why, Contains("chatty: 87 % latency (4 crossings in a row)") &&
                              Contains("bulky: 69 % the rate of beijing → shanghai, 28 % latency (1 crossing in"));
}

TEST_CASE("the choice flips where both take the same time, at the nearer of bandwidth and latency") {
  // 4 * 20 + 10/r = 20 + 50/r  =>  r = 40 / 60 MB/s; 4L + 10 = L + 50  =>  L = 13.3 ms: equally far, and bandwidth is looked at first.
  const auto verdict = time_verdict(run_of({variant("chatty", 4, 10), variant("bulky", 1, 50)}));
  CHECK_THAT(verdict.flip, Contains("chatty overtakes bulky where beijing ↔ shanghai has less than about 5.33 Mbps (now 8 Mbps)"));
}

TEST_CASE("a flip by latency is said where bandwidth brings none") {
  // Equal bytes: only latency tells them apart, and less of it lets the slower computation be nearer, never ahead.
  auto slow = variant("computes", 1, 10);
  slow.compute_s += 0.1;
  slow.step_mean_s += 0.1;
  const auto verdict = time_verdict(run_of({variant("chatty", 3, 10), slow}));
  CHECK(verdict.best == std::vector<std::string>{"chatty"});
  CHECK_THAT(verdict.flip, Contains("computes overtakes chatty where the latency of beijing ↔ shanghai is above about 50 ms (now 20 ms)"));
}

TEST_CASE("what is ahead in everything stays ahead, and that is said with the range that was looked at") {
  const auto verdict = time_verdict(run_of({variant("half", 1, 10), variant("whole", 1, 20)}));
  CHECK_THAT(verdict.flip,
             Contains("half stays ahead of whole whatever bandwidth beijing ↔ shanghai has, and at any latency from 20 us to 500 ms"));
}

TEST_CASE("a formula that misses the run by more than the tolerance is not used") {
  auto off = variant("bulky", 1, 50);
  off.step_mean_s *= 0.85;
  const auto verdict = time_verdict(run_of({variant("chatty", 4, 10), off}));
  CHECK_THAT(
      verdict.flip,
      Contains("cannot tell where: bulky: the formula says 72 ms a step, the run took 61.2 ms (the formula is more than 10 % above it)"));
  CHECK_THAT(verdict.why, Contains("bulky: 3.3 % computation of the slowest rank; its busiest line"));
  auto slow = variant("bulky", 1, 50);
  slow.step_mean_s *= 1.6;
  CHECK_THAT(time_verdict(run_of({variant("chatty", 4, 10), slow})).flip,
             Contains("cannot tell where: bulky: the formula says 72 ms a step, the run took 115 ms (the formula explains less than two "
                      "thirds of it)"));
}

TEST_CASE("what a formula leaves out of a slower run is said, and taken to stay") {
  auto slower = variant("bulky", 1, 50);  // 72 ms by formula, 18 more in the run
  slower.step_mean_s += 0.018;
  const auto verdict = time_verdict(run_of({variant("chatty", 4, 10), slower}));
  CHECK_THAT(verdict.best.front(), Contains("bulky"));
  CHECK_THAT(verdict.why, Contains("20 % what the formula leaves out") && Contains("56 % the rate of"));
  CHECK_THAT(verdict.flip, Contains("chatty overtakes bulky") && Contains("it leaves out 20 % of a step of bulky, taken to stay as it is"));
}

TEST_CASE("where no line is known nothing is said about lines") {
  auto a = variant("a", 4, 10), b = variant("b", 1, 50);
  for (auto* v : {&a, &b}) {
    for (auto& link : v->links) link.line = std::nullopt;
  }
  const auto verdict = time_verdict(run_of({a, b}));
  CHECK_THAT(verdict.flip, Contains("cannot tell where: b: its messages do not take the topology's lines"));
  CHECK_THAT(verdict.why, !Contains("line"));
}

TEST_CASE("a strategy without a formula is named as such") {
  auto unknown = variant("unknown", 4, 10);
  unknown.chains.clear();
  CHECK_THAT(time_verdict(run_of({unknown, variant("b", 1, 50)})).flip,
             Contains("cannot tell where: unknown: there is no formula for the steps of its strategy"));
}

TEST_CASE("variants of different samples a step are compared by samples, not by steps") {
  auto quarter = variant("accumulates", 1, 50);
  quarter.steps = 3;  // of four times the samples: 1200 in all
  quarter.samples = 1200;
  quarter.elapsed_s = quarter.step_mean_s * 3;
  quarter.samples_per_s = 1200 / quarter.elapsed_s;
  const auto verdict = time_verdict(run_of({variant("bulky", 1, 50), quarter}));
  CHECK(verdict.best == std::vector<std::string>{"accumulates"});
  CHECK(verdict.value == "180 ms for 1,000 samples");
  const auto run = run_of({variant("bulky", 1, 50), quarter});
  CHECK(verdicts(run)[1].value == "250 kB for 1,000 samples between datacenters");
  CHECK_THAT(samples_text(run), Contains("1000 to 1200 samples"));
  CHECK(samples_text(run_of({variant("a", 1, 1), variant("b", 1, 1)})).empty());
}

TEST_CASE("the verdict on cost has both halves, and is to the target where that was reached") {
  auto run = run_of({variant("a", 1, 10), variant("b", 1, 20)});
  run.target = TargetReport{"accuracy", 0.9};
  run.variants[0].cost = {2, 1, 3, 1.5};
  run.variants[1].cost = {2, 2, 4, 1.0};
  const auto all = verdicts(run);
  const auto& cost = all.back();
  CHECK(cost.what == "cost");
  CHECK(cost.best == std::vector<std::string>{"b"});
  CHECK(cost.value == "1 to 90 %");
  CHECK_THAT(cost.why, Contains("a: devices 2, egress 1") && Contains("b: devices 2, egress 2"));
}

TEST_CASE("one variant is compared with nothing") { CHECK(verdicts(run_of({variant("a", 1, 1)})).empty()); }

}  // namespace
}  // namespace xdc
