// What came of a run? One member's own account, and the variant's account made of all of them. Same code in both worlds:
// every member puts its account into the store, and whoever started the run reads them all.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/seam/fabric.hpp"

namespace xdc {

struct StepRecord {
  int64_t step = 0;         // from 1
  int64_t end_ns = 0;       // clock at the end of the step
  int64_t duration_ns = 0;  // without evaluation
  int64_t compute_ns = 0;   // this rank's forward and backward
  int64_t samples = 0;      // this rank's
  double loss = 0;          // this rank's part of the mean: (1/W) * sum over its samples; 0 in phantom runs
};

struct EvaluationRecord {
  int64_t step = 0;
  int64_t time_ns = 0;
  double loss = 0;
  double accuracy = 0;
};

struct MemberReport {
  MemberId member = 0;
  int64_t stands_for = 1;  // so many members did the same, this one included: steps and traffic are one's
  std::string error;       // empty: it finished
  int error_code = 0;
  std::vector<StepRecord> steps;
  std::vector<EvaluationRecord> evaluations;  // the first rank's only
  std::vector<TrafficCount> traffic;
  std::string parameters_digest;  // empty: phantom
  int64_t rounds_exchanged = 0;   // also a last one whose votes to stop discarded it
  int64_t rounds_committed = 0, rounds_rolled_back = 0;
  int64_t samples_lost = 0;
  // A server's that applies pushes one by one: [s] of its updates had s others between the read they were computed from and their
  // application; and whose push each update was, in order.
  std::vector<int64_t> staleness, applied;
  // The step that the run went on from; checkpoints of the first rank: how many were written, how many could not be.
  std::optional<int64_t> resumed_at;
  int64_t checkpoints_written = 0, checkpoints_failed = 0;
  bool stopped = false;                 // it was asked to end before its end
  std::vector<std::string> notes;       // what whoever reads the report should know: the first rank's alone
  std::map<std::string, int64_t> wall;  // wall-clock figures of the program itself, ns
};

// Lossless both ways, also for values that are not finite.
std::string to_json(const MemberReport& report);
// Errors: failed, when the text is not what to_json writes.
Result<MemberReport> member_report_from_json(std::string_view text);

}  // namespace xdc
