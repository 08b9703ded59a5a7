// Two datacenters, three workers, one server: accounts small enough to be checked by hand.
#pragma once

#include <string>
#include <vector>

#include "core/report/assemble.hpp"

namespace xdc {

inline VariantFacts example_facts() {
  VariantFacts facts;
  facts.name = "central PS";
  facts.strategy = {{"kind", std::string("parameter_server")}, {"shards", int64_t{1}}};
  facts.lan_codec = {{"kind", std::string("none")}};
  facts.wan_codec = {{"kind", std::string("fp16")}};
  facts.datacenters = {"beijing", "shanghai"};
  facts.members = {{0, true}, {0, true}, {1, true}, {0, false}};
  facts.routes[{0, 1}] = {{0, 1}};
  facts.routes[{1, 0}] = {{1, 0}};
  facts.closed_form[{0, 1}] = 100;
  facts.closed_form[{1, 0}] = 50;
  facts.devices = {2, 1};
  facts.device_price_per_hour = {std::nullopt, std::nullopt};
  facts.egress_price_per_gb = {std::nullopt, std::nullopt};
  facts.target = TargetReport{"accuracy", 0.9};
  return facts;
}

// Steps of 10 ms; worker r computes for 4 + r ms.
inline std::vector<MemberReport> example_members(int steps = 4) {
  std::vector<MemberReport> members(4);
  for (int m = 0; m < 4; ++m) {
    auto& member = members[static_cast<size_t>(m)];
    member.member = m;
    member.rounds_exchanged = member.rounds_committed = steps;
    if (m == 3) continue;
    member.parameters_digest = "d1";
    for (int s = 1; s <= steps; ++s) member.steps.push_back({s, s * 10'000'000, 10'000'000, (4 + m) * 1'000'000, 8, 0.25 / s});
  }
  members[0].evaluations = {{2, 20'000'000, 0.5, 0.8}, {4, 40'000'000, 0.25, 0.95}};
  members[2].traffic = {{3, 50 * steps, 60 * steps, 1}};
  members[3].traffic = {{0, 700, 700, 1}, {2, 100 * steps, 120 * steps, 1}};
  return members;
}

// Lines of 100 kB/s and 1 ms: the larger direction's 120 bytes of a step take 1.2 ms.
inline VariantFacts facts_with_lines() {
  auto facts = example_facts();
  facts.lines[{0, 1}] = facts.lines[{1, 0}] = {100'000, 0.001, 0, 3600};
  return facts;
}

inline RunReport example_run() {
  RunReport run;
  run.program = "xdc-sim";
  run.version = "0.1.0";
  run.scenario = "scenarios/bank_ocr.toml";
  run.scenario_digest = "abc";
  run.seed = 7;
  run.payload = "real";
  run.numerics = "portable";
  run.model = "lenet";
  run.data = "mnist";
  run.datacenters = {"beijing", "shanghai"};
  run.target = TargetReport{"accuracy", 0.9};
  run.simulator = "simgrid";
  run.simulator_version = "3.32.0";
  run.simulator_options = {{"network/model", "CM02"}};
  return run;
}

}  // namespace xdc
