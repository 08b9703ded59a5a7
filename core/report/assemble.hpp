// How do the members' accounts become a variant's? Plain inputs: this room knows no strategy and no scenario.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.hpp"
#include "core/report/report.hpp"
#include "core/report/run_report.hpp"

namespace xdc {

// What the account of a variant needs beside its members' accounts.
struct VariantFacts {
  std::string name;
  Description strategy, lan_codec, wan_codec;
  std::vector<std::string> datacenters;  // topology order
  struct MemberFacts {
    int datacenter = 0;
    bool worker = true;
  };
  std::vector<MemberFacts> members;                                        // by member id
  std::map<std::pair<int, int>, std::vector<std::pair<int, int>>> routes;  // ordered pair of datacenters -> lines crossed, in order
  std::map<std::pair<int, int>, int64_t> closed_form;                      // ordered pair -> payload bytes of one round
  int64_t steps_per_round = 1;
  int buckets = 0;  // of a gradient
  // Where every push is an update of its own: by datacenter, ordered pair -> payload bytes of one push of one of its workers and the
  // answer. Empty: there are rounds of all.
  std::vector<std::map<std::pair<int, int>, int64_t>> closed_form_of_push;
  // Ordered pair of datacenters -> the line that joins them. Empty where the world does not hold its messages to the topology's lines:
  // then nothing is said about them.
  std::map<std::pair<int, int>, LinkReport::Line> lines;
  struct Leg {
    std::pair<int, int> ends;  // datacenters; all lines of their route
    double crossings = 1, share = 1;
  };
  struct Chain {
    double compute = 1;
    std::vector<Leg> legs;
  };
  std::vector<Chain> chains;                                                      // as in VariantReport
  std::vector<int> devices;                                                       // per datacenter
  std::vector<std::optional<double>> device_price_per_hour, egress_price_per_gb;  // per datacenter
  std::optional<TargetReport> target;
  struct Bounds {
    std::optional<double> accuracy_at_least, loss_at_most;
    std::optional<int64_t> updates_lost;
  } expect;
};

// `members` in order of member id; together they stand for all of facts.members. Errors: failed, when a member did not finish (says which
// and why), or when replicas ended with different parameters.
Result<VariantReport> assemble(const VariantFacts& facts, const std::vector<MemberReport>& members);

// The account of a variant that did not finish.
VariantReport failed_variant(const VariantFacts& facts, std::string error);

// Nearest rank: the least value that at least `part` of all do not exceed. 0 of nothing.
int64_t percentile(std::vector<int64_t> values, double part);

}  // namespace xdc
