// The JSON of both programs, schema 1.
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/report/run_report.hpp"
#include "core/report/verdicts.hpp"

namespace xdc {
namespace {

using Json = nlohmann::ordered_json;

Json number(std::optional<double> value) {
  if (!value || !std::isfinite(*value)) return nullptr;
  return *value;
}

// Whole bytes stay whole numbers.
Json bytes(double value) {
  if (value == std::floor(value) && std::fabs(value) < 9e15) return static_cast<int64_t>(value);
  return value;
}

Json description_json(const Description& description) {
  auto out = Json::object();
  for (const auto& [key, value] : description) std::visit([&, k = key](const auto& v) { out[k] = v; }, value);
  return out;
}

Json links_json(const std::vector<LinkReport>& links) {
  auto out = Json::array();
  for (const auto& link : links) {
    out.push_back({{"from", link.from},
                   {"to", link.to},
                   {"bytes", link.bytes},
                   {"payload_bytes", link.payload_bytes},
                   {"payload_bytes_per_step", bytes(link.payload_bytes_per_step())},
                   {"closed_form_bytes_per_step", bytes(link.closed_form_bytes_per_step())},
                   {"rate_bytes_per_s", link.line ? bytes(link.line->rate) : Json(nullptr)},
                   {"latency_s", link.line ? Json(link.line->latency_s) : Json(nullptr)},
                   {"utilisation", link.line ? number(link.utilisation) : Json(nullptr)}});
  }
  return out;
}

Json series_json(const SeriesReport& series) {
  Json out{{"step", series.step}, {"time_s", series.time_s}, {"loss", Json::array()}, {"accuracy", Json::array()}};
  for (const auto& value : series.loss) out["loss"].push_back(number(value));
  for (const auto& value : series.accuracy) out["accuracy"].push_back(number(value));
  return out;
}

Json expectations_json(const std::vector<Expectation>& expectations) {
  auto out = Json::array();
  for (const auto& e : expectations) {
    const Json met = e.met ? Json(*e.met) : Json(nullptr);
    out.push_back({{"key", e.key}, {"bound", e.bound}, {"value", number(e.value)}, {"met", met}});
  }
  return out;
}

Json faults_json(const FaultReport& faults) {
  return {{"rounds_committed", faults.rounds_committed},
          {"rounds_rolled_back", faults.rounds_rolled_back},
          {"updates_lost", faults.updates_lost},
          {"samples_lost", faults.samples_lost},
          {"samples_repeated", faults.samples_repeated},
          {"samples_deferred", faults.samples_deferred},
          {"stall_s", faults.stall_s}};
}

Json staleness_json(const StalenessReport& staleness) {
  if (staleness.histogram.empty()) return nullptr;
  return {{"mean", staleness.mean()}, {"p50", staleness.percentile(0.50)}, {"p95", staleness.percentile(0.95)},
          {"most", staleness.most()}, {"histogram", staleness.histogram},  {"applied", staleness.applied}};
}

Json variant_json(const VariantReport& v) {
  Json out{{"name", v.name},
           {"strategy", description_json(v.strategy)},
           {"codec", {{"lan", description_json(v.lan_codec)}, {"wan", description_json(v.wan_codec)}}},
           {"buckets", v.buckets},
           {"ranks", v.ranks},
           {"actors", v.actors},
           {"servers", v.servers}};
  if (!v.error.empty()) {
    out["error"] = v.error;
    out["wall_s"] = number(v.wall_s);
    return out;
  }
  out["steps"] = v.steps;
  out["samples"] = v.samples;
  out["elapsed_s"] = number(v.elapsed_s);
  out["step_time_s"] = {{"mean", number(v.step_mean_s)}, {"p50", number(v.step_p50_s)}, {"p95", number(v.step_p95_s)}};
  out["lower_bound_s"] = {{"step", number(v.bound.step_s)}, {"by", v.bound.by}};
  out["violated_bounds"] = v.bound.violated;
  out["compute_s"] = number(v.compute_s);
  out["exposed_communication_s"] = number(v.exposed_communication_s);
  out["device_utilisation"] = number(v.device_utilisation);
  out["samples_per_s"] = number(v.samples_per_s);
  out["links"] = links_json(v.links);
  out["loss"] = number(v.loss);
  out["accuracy"] = number(v.accuracy);
  out["time_to_target_s"] = number(v.time_to_target_s);
  out["steps_to_target"] = v.steps_to_target ? Json(*v.steps_to_target) : Json(nullptr);
  out["cost"] = {{"devices", number(v.cost.devices)},
                 {"egress", number(v.cost.egress)},
                 {"total", number(v.cost.total)},
                 {"to_target", number(v.cost.to_target)}};
  out["faults"] = faults_json(v.faults);
  out["parameters_digest"] = v.parameters_digest.empty() ? Json(nullptr) : Json(v.parameters_digest);
  out["series"] = series_json(v.series);
  out["evaluations"] = Json::array();
  for (const auto& e : v.evaluations) {
    out["evaluations"].push_back({{"step", e.step}, {"time_s", e.time_s}, {"loss", number(e.loss)}, {"accuracy", number(e.accuracy)}});
  }
  out["staleness"] = staleness_json(v.staleness);
  out["expectations"] = expectations_json(v.expectations);
  out["resumed_at"] = v.resumed_at ? Json(*v.resumed_at) : Json(nullptr);
  out["stopped"] = v.stopped;
  out["checkpoints"] = {{"written", v.checkpoints_written}, {"failed", v.checkpoints_failed}};
  out["warnings"] = v.warnings;
  out["wall_s"] = number(v.wall_s);
  return out;
}

Json comparison_json(const RunReport& report) {
  auto out = Json::array();
  for (const auto& verdict : verdicts(report)) {
    out.push_back({{"for", verdict.what},
                   {"best", verdict.best},
                   {"value", verdict.value},
                   {"compared", verdict.compared},
                   {"why", verdict.why},
                   {"would_change", verdict.flip}});
  }
  return out;
}

}  // namespace

std::string to_json(const RunReport& report) {
  Json out{{"schema", 1},
           {"program", report.program},
           {"version", report.version},
           {"scenario", report.scenario},
           {"scenario_digest", report.scenario_digest},
           {"seed", report.seed},
           {"payload", report.payload},
           {"numerics", report.numerics},
           {"model", report.model.empty() ? Json(nullptr) : Json(report.model)},
           {"cost_profile", report.cost_profile.empty() ? Json(nullptr) : Json(report.cost_profile)},
           {"cost_profile_charged", !report.cost_profile.empty() && report.cost_profile_charged},
           {"data", report.data},
           {"datacenters", report.datacenters}};
  out["rehearsal"] = report.rehearsal_waits ? Json{{"waits_for_computation", *report.rehearsal_waits}} : Json(nullptr);
  out["target"] = report.target ? Json{{"metric", report.target->metric}, {"value", report.target->value}} : Json(nullptr);
  if (!report.simulator.empty()) {
    auto options = Json::object();
    for (const auto& [key, value] : report.simulator_options) options[key] = value;
    out[report.simulator] = {{"version", report.simulator_version}, {"options", std::move(options)}};
  }
  out["variants"] = Json::array();
  for (const auto& variant : report.variants) out["variants"].push_back(variant_json(variant));
  out["comparison"] = comparison_json(report);
  // A path may hold bytes that are no UTF-8: replaced, not thrown over.
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace xdc
