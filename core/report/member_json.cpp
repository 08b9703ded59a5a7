// A member's account as text and back. Steps are columns, which is a fifth of the size of one object a step.
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/report/report.hpp"

namespace xdc {
namespace {

using Json = nlohmann::ordered_json;

// JSON has no numbers for what is not finite.
Json from_double(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

// Reads what was written and remembers whether anything was not as it should be.
class Reader {
 public:
  bool ok() const { return why_.empty(); }
  const std::string& why() const { return why_; }

  const Json& at(const Json& object, const char* key) {
    static const Json nothing;
    if (const auto found = object.is_object() ? object.find(key) : object.end(); object.is_object() && found != object.end()) return *found;
    fail(key, "is missing");
    return nothing;
  }

  int64_t integer(const Json& object, const char* key) { return as_integer(at(object, key), key); }

  std::string text(const Json& object, const char* key) {
    const auto& value = at(object, key);
    if (const auto* string = value.get_ptr<const std::string*>()) return *string;
    fail(key, "is no text");
    return {};
  }

  std::vector<int64_t> integers(const Json& object, const char* key) {
    std::vector<int64_t> out;
    const auto& values = at(object, key);
    if (!values.is_array()) fail(key, "is no array");
    for (const auto& value : values) out.push_back(as_integer(value, key));
    return out;
  }

  std::vector<std::string> texts(const Json& object, const char* key) {
    std::vector<std::string> out;
    const auto& values = at(object, key);
    if (!values.is_array()) fail(key, "is no array");
    for (const auto& value : values) {
      if (const auto* string = value.get_ptr<const std::string*>()) {
        out.push_back(*string);
      } else {
        fail(key, "has something that is no text");
      }
    }
    return out;
  }

  std::vector<double> doubles(const Json& object, const char* key) {
    std::vector<double> out;
    const auto& values = at(object, key);
    if (!values.is_array()) fail(key, "is no array");
    for (const auto& value : values) out.push_back(as_double(value, key));
    return out;
  }

  int64_t as_integer(const Json& value, const char* key) {
    if (value.is_number_integer()) return value.get<int64_t>();
    fail(key, "is no whole number");
    return 0;
  }

  void expect_size(size_t size, size_t wanted, const char* key) {
    if (size != wanted) fail(key, "has another length than its neighbours");
  }

  void fail(const char* key, const char* what) {
    if (why_.empty()) why_ = fmt::format("{} {}", key, what);
  }

 private:
  double as_double(const Json& value, const char* key) {
    if (value.is_number()) return value.get<double>();
    if (value == "nan") return std::numeric_limits<double>::quiet_NaN();
    if (value == "inf") return std::numeric_limits<double>::infinity();
    if (value == "-inf") return -std::numeric_limits<double>::infinity();
    fail(key, "is no number");
    return 0;
  }

  std::string why_;
};

template <class Record, class Field>
Json column(const std::vector<Record>& records, Field field) {
  auto out = Json::array();
  for (const auto& record : records) {
    if constexpr (std::is_same_v<decltype(record.*field), const double&>) {
      out.push_back(from_double(record.*field));
    } else {
      out.push_back(record.*field);
    }
  }
  return out;
}

Json steps_json(const std::vector<StepRecord>& steps) {
  return {{"step", column(steps, &StepRecord::step)},
          {"end_ns", column(steps, &StepRecord::end_ns)},
          {"duration_ns", column(steps, &StepRecord::duration_ns)},
          {"compute_ns", column(steps, &StepRecord::compute_ns)},
          {"samples", column(steps, &StepRecord::samples)},
          {"loss", column(steps, &StepRecord::loss)}};
}

Json evaluations_json(const std::vector<EvaluationRecord>& evaluations) {
  return {{"step", column(evaluations, &EvaluationRecord::step)},
          {"time_ns", column(evaluations, &EvaluationRecord::time_ns)},
          {"loss", column(evaluations, &EvaluationRecord::loss)},
          {"accuracy", column(evaluations, &EvaluationRecord::accuracy)}};
}

Json traffic_json(const std::vector<TrafficCount>& traffic) {
  return {{"to", column(traffic, &TrafficCount::to)},
          {"payload_bytes", column(traffic, &TrafficCount::payload_bytes)},
          {"wire_bytes", column(traffic, &TrafficCount::wire_bytes)},
          {"messages", column(traffic, &TrafficCount::messages)},
          {"returned_bytes", column(traffic, &TrafficCount::returned_bytes)}};
}

template <class Record, class Field>
void fill(std::vector<Record>& records, Field field, const std::vector<int64_t>& values, Reader& reader, const char* key) {
  reader.expect_size(values.size(), records.size(), key);
  for (size_t i = 0; i < std::min(values.size(), records.size()); ++i) {
    records[i].*field = static_cast<std::remove_reference_t<decltype(records[i].*field)>>(values[i]);
  }
}

template <class Record>
void fill(std::vector<Record>& records, double Record::*field, const std::vector<double>& values, Reader& reader, const char* key) {
  reader.expect_size(values.size(), records.size(), key);
  for (size_t i = 0; i < std::min(values.size(), records.size()); ++i) records[i].*field = values[i];
}

std::vector<StepRecord> read_steps(const Json& json, Reader& reader) {
  const auto numbers = reader.integers(json, "step");
  std::vector<StepRecord> out(numbers.size());
  fill(out, &StepRecord::step, numbers, reader, "step");
  fill(out, &StepRecord::end_ns, reader.integers(json, "end_ns"), reader, "end_ns");
  fill(out, &StepRecord::duration_ns, reader.integers(json, "duration_ns"), reader, "duration_ns");
  fill(out, &StepRecord::compute_ns, reader.integers(json, "compute_ns"), reader, "compute_ns");
  fill(out, &StepRecord::samples, reader.integers(json, "samples"), reader, "samples");
  fill(out, &StepRecord::loss, reader.doubles(json, "loss"), reader, "loss");
  return out;
}

std::vector<EvaluationRecord> read_evaluations(const Json& json, Reader& reader) {
  const auto numbers = reader.integers(json, "step");
  std::vector<EvaluationRecord> out(numbers.size());
  fill(out, &EvaluationRecord::step, numbers, reader, "step");
  fill(out, &EvaluationRecord::time_ns, reader.integers(json, "time_ns"), reader, "time_ns");
  fill(out, &EvaluationRecord::loss, reader.doubles(json, "loss"), reader, "loss");
  fill(out, &EvaluationRecord::accuracy, reader.doubles(json, "accuracy"), reader, "accuracy");
  return out;
}

std::vector<TrafficCount> read_traffic(const Json& json, Reader& reader) {
  const auto to = reader.integers(json, "to");
  std::vector<TrafficCount> out(to.size());
  fill(out, &TrafficCount::to, to, reader, "to");
  fill(out, &TrafficCount::payload_bytes, reader.integers(json, "payload_bytes"), reader, "payload_bytes");
  fill(out, &TrafficCount::wire_bytes, reader.integers(json, "wire_bytes"), reader, "wire_bytes");
  fill(out, &TrafficCount::messages, reader.integers(json, "messages"), reader, "messages");
  fill(out, &TrafficCount::returned_bytes, reader.integers(json, "returned_bytes"), reader, "returned_bytes");
  return out;
}

}  // namespace

std::string to_json(const MemberReport& report) {
  auto wall = Json::object();
  for (const auto& [name, ns] : report.wall) wall[name] = ns;
  const Json json{{"member", report.member},
                  {"stands_for", report.stands_for},
                  {"error", report.error},
                  {"error_code", report.error_code},
                  {"steps", steps_json(report.steps)},
                  {"evaluations", evaluations_json(report.evaluations)},
                  {"traffic", traffic_json(report.traffic)},
                  {"parameters_digest", report.parameters_digest},
                  {"rounds_exchanged", report.rounds_exchanged},
                  {"rounds_committed", report.rounds_committed},
                  {"rounds_rolled_back", report.rounds_rolled_back},
                  {"samples_lost", report.samples_lost},
                  {"staleness", report.staleness},
                  {"applied", report.applied},
                  {"resumed_at", report.resumed_at.value_or(-1)},
                  {"checkpoints_written", report.checkpoints_written},
                  {"checkpoints_failed", report.checkpoints_failed},
                  {"stopped", report.stopped ? 1 : 0},
                  {"notes", report.notes},
                  {"wall", std::move(wall)}};
  // A message may quote bytes that are no UTF-8 (a file name): replaced, not thrown over.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<MemberReport> member_report_from_json(std::string_view text) {
  const auto json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return Error{ErrorCode::failed, "a member's report is no JSON"};
  Reader reader;
  MemberReport out;
  out.member = static_cast<MemberId>(reader.integer(json, "member"));
  out.stands_for = reader.integer(json, "stands_for");
  out.error = reader.text(json, "error");
  out.error_code = static_cast<int>(reader.integer(json, "error_code"));
  out.steps = read_steps(reader.at(json, "steps"), reader);
  out.evaluations = read_evaluations(reader.at(json, "evaluations"), reader);
  out.traffic = read_traffic(reader.at(json, "traffic"), reader);
  out.parameters_digest = reader.text(json, "parameters_digest");
  out.rounds_exchanged = reader.integer(json, "rounds_exchanged");
  out.rounds_committed = reader.integer(json, "rounds_committed");
  out.rounds_rolled_back = reader.integer(json, "rounds_rolled_back");
  out.samples_lost = reader.integer(json, "samples_lost");
  out.staleness = reader.integers(json, "staleness");
  out.applied = reader.integers(json, "applied");
  if (const int64_t step = reader.integer(json, "resumed_at"); step >= 0) out.resumed_at = step;
  out.checkpoints_written = reader.integer(json, "checkpoints_written");
  out.checkpoints_failed = reader.integer(json, "checkpoints_failed");
  out.stopped = reader.integer(json, "stopped") != 0;
  out.notes = reader.texts(json, "notes");
  const auto& wall = reader.at(json, "wall");
  if (!wall.is_object()) reader.fail("wall", "is no table");
  for (const auto& [name, ns] : wall.items()) out.wall[name] = reader.as_integer(ns, "wall");
  if (!reader.ok()) return Error{ErrorCode::failed, fmt::format("a member's report is damaged: {}", reader.why())};
  return out;
}

}  // namespace xdc
