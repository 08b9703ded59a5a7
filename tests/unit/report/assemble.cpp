#include "core/report/assemble.hpp"

#include <catch2/catch.hpp>

#include "tests/unit/report/example.hpp"

namespace xdc {
namespace {

using Catch::Contains;

TEST_CASE("the figures of a variant follow from its members' accounts") {
  const auto v = assemble(example_facts(), example_members()).value();
  CHECK(v.ranks == 3);
  CHECK(v.servers == 1);
  CHECK(v.steps == 4);
  CHECK(v.elapsed_s == 0.04);
  CHECK(v.step_mean_s == 0.01);
  CHECK(v.step_p95_s == 0.01);
  CHECK(v.compute_s == 0.006);
  CHECK(v.exposed_communication_s == 0.004);
  CHECK(v.device_utilisation == 0.5);
  CHECK(v.samples_per_s == 2400);
  CHECK(v.samples == 96);
  CHECK(v.loss == 0.25);
  CHECK(v.accuracy == 0.95);
  CHECK(v.time_to_target_s == 0.04);
  CHECK(v.parameters_digest == "d1");
  CHECK(v.series.step == std::vector<int64_t>{1, 2, 3, 4});
  CHECK(v.series.loss[1] == 0.375);
  CHECK_FALSE(v.series.accuracy[0]);
  CHECK(v.series.accuracy[1] == 0.8);
  CHECK(v.warnings.empty());
}

TEST_CASE("bytes between datacenters are counted on the lines they cross, traffic inside is not") {
  const auto v = assemble(example_facts(), example_members()).value();
  REQUIRE(v.links.size() == 2);
  CHECK(v.links[0].from == "beijing");
  CHECK(v.links[0].to == "shanghai");
  CHECK(v.links[0].bytes == 480);
  CHECK(v.links[0].payload_bytes_per_step() == 100);
  CHECK(v.links[1].payload_bytes_per_step() == 50);
  CHECK(v.wan_bytes_per_step() == 150);
}

TEST_CASE("what comes back on a connection is bytes of the other direction, and no payload") {
  auto members = example_members();
  const auto before = assemble(example_facts(), members).value();
  for (auto& member : members) {
    for (auto& count : member.traffic) count.returned_bytes = 7;
  }
  const auto v = assemble(example_facts(), members).value();
  // One pair of members speaks in each direction, and one inside.
  CHECK(v.links[0].bytes == before.links[0].bytes + 7);
  CHECK(v.links[1].bytes == before.links[1].bytes + 7);
  CHECK(v.links[0].payload_bytes == before.links[0].payload_bytes);
  CHECK(v.bound.violated.empty());
}

TEST_CASE("a route over a third datacenter charges both of its lines") {
  auto facts = example_facts();
  facts.datacenters.emplace_back("wuhan");
  facts.devices.push_back(0);
  facts.device_price_per_hour.emplace_back();
  facts.egress_price_per_gb.emplace_back();
  facts.routes[{0, 1}] = {{0, 2}, {2, 1}};
  facts.routes[{1, 0}] = {{1, 2}, {2, 0}};
  const auto v = assemble(facts, example_members()).value();
  REQUIRE(v.links.size() == 4);
  CHECK(v.links[0].to == "wuhan");
  CHECK(v.links[0].payload_bytes == 400);
  CHECK(v.wan_bytes_per_step() == 300);
  CHECK(v.warnings.empty());
}

TEST_CASE("replicas that part are an error, not a result") {
  auto members = example_members();
  members[2].parameters_digest = "d2";
  CHECK_THAT(assemble(example_facts(), members).error().message, Contains("replicas differ: member 0") && Contains("member 2 with d2"));
}

TEST_CASE("a member's failure is the variant's") {
  auto members = example_members();
  members[1].error = "beijing rank 1: round 3: timeout";
  CHECK(assemble(example_facts(), members).error().message == "beijing rank 1: round 3: timeout");
  members[0].error = "beijing rank 0: the peer gave up";
  members[0].error_code = static_cast<int>(ErrorCode::peer_lost);
  CHECK(assemble(example_facts(), members).error().message == "beijing rank 1: round 3: timeout");
  members.pop_back();
  CHECK_THAT(assemble(example_facts(), members).error().message, Contains("3 of 4 members"));
}

TEST_CASE("a phantom run has neither loss nor accuracy, and its expectations on them are not checked") {
  auto members = example_members();
  for (auto& member : members) member.parameters_digest.clear();
  members[0].evaluations.clear();
  auto facts = example_facts();
  facts.expect.accuracy_at_least = 0.5;
  const auto v = assemble(facts, members).value();
  CHECK_FALSE(v.loss);
  CHECK_FALSE(v.accuracy);
  CHECK_FALSE(v.time_to_target_s);
  CHECK_FALSE(v.series.loss[0]);
  CHECK(v.step_mean_s == 0.01);
  CHECK_FALSE(v.expectations[0].met);
  CHECK(v.expectations_met());
}

TEST_CASE("the target is reached at the first evaluation that meets it") {
  auto facts = example_facts();
  facts.target = TargetReport{"loss", 0.5};
  CHECK(assemble(facts, example_members()).value().time_to_target_s == 0.02);
  facts.target = TargetReport{"accuracy", 0.96};
  CHECK_FALSE(assemble(facts, example_members()).value().time_to_target_s);
}

TEST_CASE("expectations compare with the held-out scores at the end") {
  auto facts = example_facts();
  facts.expect = {0.95, 0.2, 0};
  const auto v = assemble(facts, example_members()).value();
  REQUIRE(v.expectations.size() == 3);
  CHECK(v.expectations[0].met == true);
  CHECK(v.expectations[1].met == false);
  CHECK(v.expectations[2].met == true);
  CHECK_FALSE(v.expectations_met());
}

TEST_CASE("a cost is known only where everything is priced") {
  auto facts = example_facts();
  CHECK_FALSE(assemble(facts, example_members()).value().cost.total);
  facts.device_price_per_hour = {3.6, 7.2};
  const auto devices = assemble(facts, example_members()).value().cost;
  CHECK(devices.devices == Approx((2 * 3.6 + 7.2) * 0.04 / 3600));
  CHECK_FALSE(devices.total);
  facts.egress_price_per_gb = {1e9, 2e9};
  const auto both = assemble(facts, example_members()).value().cost;
  CHECK(both.egress == Approx(480 * 1.0 + 240 * 2.0));
  CHECK(both.total == Approx(*both.devices + *both.egress));
  // Met at step 4 of 4, after all of the time.
  CHECK(both.to_target == Approx(*both.total));
  facts.target = TargetReport{"accuracy", 0.8};
  const auto sooner = assemble(facts, example_members()).value().cost;
  CHECK(sooner.to_target == Approx(*both.total / 2));
  facts.target = TargetReport{"accuracy", 0.99};
  CHECK_FALSE(assemble(facts, example_members()).value().cost.to_target);
  facts.target = TargetReport{"accuracy", 0.9};
  auto late = example_members();
  late[0].evaluations.back().time_ns += 5'000'000;
  CHECK(assemble(facts, late).value().cost.to_target == Approx(*both.total));
}

TEST_CASE("a percentile is the nearest rank") {
  CHECK(percentile({}, 0.5) == 0);
  CHECK(percentile({7}, 0.95) == 7);
  CHECK(percentile({4, 1, 3, 2}, 0.5) == 2);
  CHECK(percentile({4, 1, 3, 2}, 0.95) == 4);
  CHECK(percentile({1, 2, 3}, 0) == 1);
}

TEST_CASE("a worker that was one step ahead leaves no ragged edge") {
  auto members = example_members();
  members[1].steps.pop_back();
  const auto v = assemble(example_facts(), members).value();
  CHECK(v.steps == 3);
  CHECK(v.elapsed_s == 0.03);
}

TEST_CASE("a run without a single step has no figures and does not divide by zero") {
  const auto v = assemble(example_facts(), example_members(0)).value();
  CHECK(v.steps == 0);
  CHECK(v.step_mean_s == 0);
  CHECK(v.samples_per_s == 0);
  CHECK(v.links[0].payload_bytes_per_step() == 0);
}

// Workers 0 and 1 are beside the server and take a step each 10 ms; worker 2 takes one each 40 ms over the line, 100 bytes up and 50 down.
TEST_CASE("where every push is an update, bytes, times and cost are those of each worker's own steps") {
  auto facts = example_facts();
  facts.closed_form_of_push = {{}, {{{1, 0}, 100}, {{0, 1}, 50}}};
  facts.device_price_per_hour = {0.0, 0.0};
  facts.egress_price_per_gb = {1e9, 1e9};
  auto members = example_members();
  for (auto& step : members[2].steps) step.end_ns *= 4;
  members[2].traffic = {{3, 400, 400, 4}};
  members[3].traffic = {{0, 700, 700, 4}, {2, 200, 200, 4}};
  members[3].staleness = {4, 0, 8};
  members[3].applied = {0, 1, 0, 1, 0, 1, 0, 1, 2, 2, 2, 2};
  members[0].evaluations = {{2, 90'000'000, 0.5, 0.95}, {4, 160'000'000, 0.25, 0.96}};
  const auto made = assemble(facts, members);
  REQUIRE(made.ok());
  const auto& v = made.value();
  CHECK(v.bound.violated.empty());
  CHECK(v.steps == 4);
  CHECK(v.elapsed_s == 0.16);  // when the last has taken its last
  CHECK(v.step_mean_s == Approx(0.04));
  CHECK(v.links[0].closed_form_bytes_per_step() == 50);
  CHECK(v.links[1].closed_form_bytes_per_step() == 100);
  // At the target worker 2 had taken two of its four steps.
  CHECK(v.time_to_target_s == 0.09);
  CHECK(v.cost.total == Approx(600));
  CHECK(v.cost.to_target == Approx(300));
  CHECK(v.staleness.mean() == Approx(16.0 / 12));
  CHECK(v.staleness.percentile(0.25) == 0);
  CHECK(v.staleness.percentile(0.5) == 2);
  CHECK(v.staleness.most() == 2);
  CHECK(v.evaluations.size() == 2);
  members[2].traffic[0].payload_bytes = 399;
  CHECK(assemble(facts, members).value().bound.violated.size() == 1);
}

}  // namespace
}  // namespace xdc
