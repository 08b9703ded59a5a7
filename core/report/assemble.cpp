#include "core/report/assemble.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/report/bounds.hpp"
#include "core/report/costs.hpp"

namespace xdc {
namespace {

// A division is rounded once: 30000000 ns are 0.03 s in shortest form, which a product with 1e-9 is not.
double as_seconds(int64_t ns) { return static_cast<double>(ns) / 1e9; }

double mean(int64_t sum, size_t count) { return count == 0 ? 0 : static_cast<double>(sum) / static_cast<double>(count); }

const VariantFacts::MemberFacts& about(const VariantFacts& facts, const MemberReport& member) {
  return facts.members[static_cast<size_t>(member.member)];
}

std::vector<const MemberReport*> workers_of(const VariantFacts& facts, const std::vector<MemberReport>& members) {
  std::vector<const MemberReport*> out;
  for (const auto& member : members) {
    if (about(facts, member).worker) out.push_back(&member);
  }
  return out;
}

// Whoever was told of a failure fails as well; what a reader needs is the one that told.
const MemberReport* first_failure(const std::vector<MemberReport>& members) {
  const MemberReport* out = nullptr;
  for (const auto& member : members) {
    if (member.error.empty()) continue;
    const auto code = static_cast<ErrorCode>(member.error_code);
    if (code != ErrorCode::peer_lost && code != ErrorCode::aborted) return &member;
    if (out == nullptr) out = &member;
  }
  return out;
}

Status check_members(const VariantFacts& facts, const std::vector<MemberReport>& members) {
  int64_t accounted_for = 0;
  for (const auto& member : members) accounted_for += member.stands_for;
  if (accounted_for != static_cast<int64_t>(facts.members.size())) {
    return Error{ErrorCode::failed, fmt::format("{} of {} members left a report", accounted_for, facts.members.size())};
  }
  if (const auto* failure = first_failure(members)) return Error{ErrorCode::failed, failure->error};
  const MemberReport* first = nullptr;
  for (const auto& member : members) {
    if (member.parameters_digest.empty()) continue;
    if (first != nullptr && member.parameters_digest != first->parameters_digest) {
      return Error{ErrorCode::failed, fmt::format("replicas differ: member {} ended with parameters {}, member {} with {}", first->member,
                                                  first->parameters_digest, member.member, member.parameters_digest)};
    }
    if (first == nullptr) first = &member;
  }
  return ok_status();
}

// Steps that every worker has finished: a run that ends inside a round leaves no ragged edge.
size_t common_steps(const std::vector<const MemberReport*>& workers) {
  size_t count = workers.empty() ? 0 : workers.front()->steps.size();
  for (const auto* worker : workers) count = std::min(count, worker->steps.size());
  return count;
}

// Where workers take their steps when they please, a step has been taken when all have taken it.
std::vector<int64_t> common_ends(const std::vector<const MemberReport*>& workers, size_t count) {
  std::vector<int64_t> ends(count);
  for (size_t i = 0; i < count; ++i) {
    for (const auto* worker : workers) ends[i] = std::max(ends[i], worker->steps[i].end_ns);
  }
  return ends;
}

void add_times(const std::vector<const MemberReport*>& workers, bool free, VariantReport& out) {
  const auto count = common_steps(workers);
  const auto& first = *workers.front();
  const auto ends = free ? common_ends(workers, count) : std::vector<int64_t>{};
  std::vector<int64_t> durations;
  int64_t step_sum = 0;
  int64_t slowest_sum = 0;
  int64_t compute_sum = 0;
  int64_t samples = 0;
  for (size_t i = 0; i < count; ++i) {
    durations.push_back(free ? ends[i] - (i == 0 ? 0 : ends[i - 1]) : first.steps[i].duration_ns);
    step_sum += durations.back();
    int64_t slowest = 0;
    for (const auto* worker : workers) {
      slowest = std::max(slowest, worker->steps[i].compute_ns);
      compute_sum += worker->steps[i].compute_ns * worker->stands_for;
      samples += worker->steps[i].samples * worker->stands_for;
    }
    slowest_sum += slowest;
  }
  out.steps = static_cast<int64_t>(count);
  out.samples = samples;
  out.elapsed_s = count == 0 ? 0 : as_seconds(free ? ends[count - 1] : first.steps[count - 1].end_ns);
  out.step_mean_s = mean(step_sum, count) / 1e9;
  out.step_p50_s = as_seconds(percentile(durations, 0.50));
  out.step_p95_s = as_seconds(percentile(durations, 0.95));
  out.compute_s = mean(slowest_sum, count) / 1e9;
  out.exposed_communication_s = mean(step_sum - slowest_sum, count) / 1e9;
  if (step_sum > 0)
    out.device_utilisation = static_cast<double>(compute_sum) / (static_cast<double>(step_sum) * static_cast<double>(out.ranks));
  if (out.elapsed_s > 0) out.samples_per_s = static_cast<double>(samples) / out.elapsed_s;
}

void add_series(const std::vector<const MemberReport*>& workers, bool free, bool phantom, VariantReport& out) {
  const auto& first = *workers.front();
  std::map<int64_t, double> accuracy;
  for (const auto& evaluation : first.evaluations) {
    accuracy[evaluation.step] = evaluation.accuracy;
    out.evaluations.push_back({evaluation.step, as_seconds(evaluation.time_ns), evaluation.loss, evaluation.accuracy});
  }
  const auto ends = free ? common_ends(workers, static_cast<size_t>(out.steps)) : std::vector<int64_t>{};
  for (size_t i = 0; i < static_cast<size_t>(out.steps); ++i) {
    double loss = 0;
    for (const auto* worker : workers) loss += worker->steps[i].loss;  // in rank order
    const auto step = first.steps[i].step;
    const auto evaluated = accuracy.find(step);
    out.series.step.push_back(step);
    out.series.time_s.push_back(as_seconds(free ? ends[i] : first.steps[i].end_ns));
    out.series.loss.push_back(phantom ? std::nullopt : std::optional(loss));
    out.series.accuracy.push_back(evaluated == accuracy.end() ? std::nullopt : std::optional(evaluated->second));
  }
}

void add_scores(const MemberReport& first, const std::optional<TargetReport>& target, VariantReport& out) {
  if (first.evaluations.empty()) return;
  out.loss = first.evaluations.back().loss;
  out.accuracy = first.evaluations.back().accuracy;
  if (!target) return;
  for (const auto& evaluation : first.evaluations) {
    const bool reached = target->metric == "accuracy" ? evaluation.accuracy >= target->value : evaluation.loss <= target->value;
    if (!reached) continue;
    out.time_to_target_s = as_seconds(evaluation.time_ns);
    out.steps_to_target = evaluation.step;
    return;
  }
}

Ledger pair_ledger(const VariantFacts& facts, const std::vector<MemberReport>& members) {
  Ledger out;
  for (const auto& member : members) {
    const int from = about(facts, member).datacenter;
    for (const auto& count : member.traffic) {
      const int to = facts.members[static_cast<size_t>(count.to)].datacenter;
      if (from == to) continue;
      auto& pair = out[{from, to}];
      pair.wire += count.wire_bytes * member.stands_for;
      pair.payload += count.payload_bytes * member.stands_for;
      if (count.returned_bytes > 0) out[{to, from}].wire += count.returned_bytes * member.stands_for;
    }
  }
  return out;
}

// Payload that must have crossed, by ordered pair of datacenters; and for each step that counts.
struct ClosedForms {
  std::map<std::pair<int, int>, int64_t> all;
  std::map<std::pair<int, int>, double> of_a_step;
};

ClosedForms closed_forms(const VariantFacts& facts, const std::vector<const MemberReport*>& workers, int64_t steps) {
  ClosedForms out;
  for (const auto& [pair, bytes] : facts.closed_form) {
    out.all[pair] = bytes * workers.front()->rounds_exchanged;
    out.of_a_step[pair] = static_cast<double>(bytes) / static_cast<double>(facts.steps_per_round);
  }
  if (facts.closed_form_of_push.empty()) return out;
  out = {};
  for (const auto* worker : workers) {
    const auto applied = std::count_if(worker->steps.begin(), worker->steps.end(), [](const StepRecord& step) { return step.samples > 0; });
    for (const auto& [pair, bytes] : facts.closed_form_of_push[static_cast<size_t>(about(facts, *worker).datacenter)]) {
      out.all[pair] += bytes * worker->rounds_exchanged * worker->stands_for;
      out.of_a_step[pair] += static_cast<double>(bytes * applied * worker->stands_for) / static_cast<double>(std::max<int64_t>(1, steps));
    }
  }
  return out;
}

void add_links(const VariantFacts& facts, const std::vector<const MemberReport*>& workers, const Ledger& ledger, VariantReport& out) {
  const bool free = !facts.closed_form_of_push.empty();
  const int64_t rounds = free ? out.steps : workers.front()->rounds_exchanged;
  const auto forms = closed_forms(facts, workers, out.steps);
  std::map<std::pair<int, int>, LinkReport> lines;
  for (const auto& [pair, route] : facts.routes) {
    const auto traffic = ledger.find(pair);
    const auto closed_form = forms.all.find(pair);
    for (const auto& [from, to] : route) {
      auto& line = lines[{from, to}];
      line.from = facts.datacenters[static_cast<size_t>(from)];
      line.to = facts.datacenters[static_cast<size_t>(to)];
      line.rounds = rounds;
      line.steps_per_round = facts.steps_per_round;
      if (traffic != ledger.end()) {
        line.bytes += traffic->second.wire;
        line.payload_bytes += traffic->second.payload;
      }
      if (closed_form == forms.all.end()) continue;
      line.closed_form_bytes += closed_form->second;
      line.closed_form_bytes_of_a_step += forms.of_a_step.at(pair);
    }
  }
  std::map<std::pair<int, int>, size_t> places;
  for (auto& [ends, line] : lines) {
    if (const auto known = facts.lines.find(ends); known != facts.lines.end()) line.line = known->second;
    places[ends] = out.links.size();
    out.links.push_back(std::move(line));
  }
  for (const auto& chain : facts.chains) {
    auto& added = out.chains.emplace_back();
    added.compute = chain.compute;
    for (const auto& leg : chain.legs) {
      auto& way = added.legs.emplace_back();
      way.crossings = leg.crossings;
      way.share = leg.share;
      for (const auto& ends : facts.routes.at(leg.ends)) way.route.push_back(places.at(ends));
    }
  }
}

// The whole run as its bounds see it.
RunSpan span_of(const VariantFacts& facts, const std::vector<MemberReport>& members, int64_t steps) {
  RunSpan span;
  for (const auto& member : members) {
    if (!about(facts, member).worker || steps == 0) continue;
    int64_t computed = 0;
    for (size_t i = 0; i < static_cast<size_t>(steps); ++i) computed += member.steps[i].compute_ns;
    span.end_s = std::max(span.end_s, as_seconds(member.steps[static_cast<size_t>(steps) - 1].end_ns));
    if (as_seconds(computed) <= span.computation_s) continue;
    span.computation_s = as_seconds(computed);
    span.computed_by = member.member;
  }
  return span;
}

void add_faults(const std::vector<const MemberReport*>& workers, int64_t steps_per_round, VariantReport& out) {
  auto& faults = out.faults;
  faults.rounds_committed = workers.front()->rounds_committed;
  for (const auto* worker : workers) {
    faults.rounds_committed = std::min(faults.rounds_committed, worker->rounds_committed);
    faults.rounds_rolled_back = std::max(faults.rounds_rolled_back, worker->rounds_rolled_back);
    faults.samples_lost += worker->samples_lost * worker->stands_for;
  }
  faults.updates_lost = std::max<int64_t>(0, out.steps - faults.rounds_committed * steps_per_round);
}

void add_staleness(const std::vector<MemberReport>& members, VariantReport& out) {
  for (const auto& member : members) {
    if (member.staleness.empty()) continue;
    auto& sum = out.staleness.histogram;
    sum.resize(std::max(sum.size(), member.staleness.size()));
    for (size_t s = 0; s < member.staleness.size(); ++s) sum[s] += member.staleness[s];
    out.staleness.applied.push_back(member.applied);
  }
}

void add_expectations(const VariantFacts::Bounds& expect, VariantReport& out) {
  const auto add = [&](const char* key, double bound, std::optional<double> value, bool met) {
    out.expectations.push_back({key, bound, value, value ? std::optional(met) : std::nullopt});
  };
  if (const auto& bound = expect.accuracy_at_least) add("accuracy_at_least", *bound, out.accuracy, out.accuracy.value_or(0) >= *bound);
  if (const auto& bound = expect.loss_at_most) add("loss_at_most", *bound, out.loss, out.loss.value_or(0) <= *bound);
  if (const auto& bound = expect.updates_lost) {
    const auto lost = static_cast<double>(out.faults.updates_lost);
    add("updates_lost", static_cast<double>(*bound), lost, out.faults.updates_lost == *bound);
  }
}

void add_checkpoints(const MemberReport& first, VariantReport& out) {
  out.resumed_at = first.resumed_at;
  out.stopped = first.stopped;
  out.checkpoints_written = first.checkpoints_written;
  out.checkpoints_failed = first.checkpoints_failed;
  out.warnings.insert(out.warnings.end(), first.notes.begin(), first.notes.end());
}

VariantReport described(const VariantFacts& facts) {
  VariantReport out;
  out.name = facts.name;
  out.strategy = facts.strategy;
  out.lan_codec = facts.lan_codec;
  out.wan_codec = facts.wan_codec;
  out.buckets = facts.buckets;
  for (const auto& member : facts.members) ++(member.worker ? out.ranks : out.servers);
  return out;
}

}  // namespace

int64_t percentile(std::vector<int64_t> values, double part) {
  if (values.empty()) return 0;
  const auto count = static_cast<double>(values.size());
  const auto rank = static_cast<size_t>(std::clamp(std::ceil(part * count), 1.0, count)) - 1;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(rank), values.end());
  return values[rank];
}

Result<VariantReport> assemble(const VariantFacts& facts, const std::vector<MemberReport>& members) {
  XDC_TRY(check_members(facts, members));
  const auto workers = workers_of(facts, members);
  if (workers.empty()) return Error{ErrorCode::failed, "there are no workers"};
  auto out = described(facts);
  const auto& first = *workers.front();
  out.parameters_digest = first.parameters_digest;
  out.actors = static_cast<int>(members.size());
  const bool free = !facts.closed_form_of_push.empty();
  add_times(workers, free, out);
  add_series(workers, free, out.parameters_digest.empty(), out);
  add_scores(first, facts.target, out);
  const auto ledger = pair_ledger(facts, members);
  add_links(facts, workers, ledger, out);
  add_bounds(facts, span_of(facts, members, out.steps), out);
  add_cost(facts, workers, ledger, out);
  add_faults(workers, facts.steps_per_round, out);
  add_staleness(members, out);
  add_expectations(facts.expect, out);
  add_checkpoints(first, out);
  return out;
}

VariantReport failed_variant(const VariantFacts& facts, std::string error) {
  auto out = described(facts);
  out.error = std::move(error);
  return out;
}

double StalenessReport::mean() const {
  double sum = 0, updates = 0;
  for (size_t s = 0; s < histogram.size(); ++s) {
    sum += static_cast<double>(s) * static_cast<double>(histogram[s]);
    updates += static_cast<double>(histogram[s]);
  }
  return updates == 0 ? 0 : sum / updates;
}

int64_t StalenessReport::percentile(double part) const {
  int64_t updates = 0;
  for (const int64_t count : histogram) updates += count;
  const double wanted = std::max(1.0, std::ceil(part * static_cast<double>(updates)));
  int64_t below = 0;
  for (size_t s = 0; s < histogram.size(); ++s) {
    below += histogram[s];
    if (static_cast<double>(below) >= wanted) return static_cast<int64_t>(s);
  }
  return 0;
}

double VariantReport::wan_bytes_per_step() const {
  double sum = 0;
  for (const auto& link : links) sum += link.payload_bytes_per_step();
  return sum;
}

const LinkReport* VariantReport::busiest_line() const {
  const LinkReport* out = nullptr;
  for (const auto& link : links) {
    if (link.line && (out == nullptr || link.utilisation > out->utilisation)) out = &link;
  }
  return out;
}

bool VariantReport::expectations_met() const {
  return std::all_of(expectations.begin(), expectations.end(), [](const Expectation& expectation) { return expectation.met != false; });
}

}  // namespace xdc
