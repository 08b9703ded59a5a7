#include "exec/launcher/fingerprint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "core/base/edit_distance.hpp"
#include "core/math/numerics.hpp"

namespace xdc {

const std::vector<FactRule>& fact_rules() {
  static const std::vector<FactRule> kRules{
      {"version", false, "another version may follow other rules, and speak otherwise on the line"},
      {"build", false, "another build may add in another order: equal results are claimed for one build"},
      {"scenario", false, "scenario, topology or --set differ: these are two runs"},
      {"variants", false, "these are two runs"},
      {"checkpoints", false, "all save and go on together, or none does: give --checkpoint, --resume and [checkpoint] alike everywhere"},
      {"rehearsal", false, "some would wait for computations and others not: give --rehearse-without-waiting everywhere or nowhere"},
      {"numerics", false, "ranks would round differently"},
      {"instructions", false, "ranks would round differently"},
      {"oneDNN", false, "another version may add in another order"},
      {"processor", true,
       "replicas stay equal, since each sum is made once and everybody uses its bits; only a digest may then differ from xdc-sim's"},
  };
  return kRules;
}

Status check_allowed(const std::vector<std::string>& allowed) {
  std::vector<std::string> names;
  for (const FactRule& rule : fact_rules()) names.push_back(rule.key);
  for (const std::string& key : allowed) {
    const auto& rules = fact_rules();
    const auto rule = std::find_if(rules.begin(), rules.end(), [&key](const FactRule& r) { return r.key == key; });
    if (rule == rules.end()) {
      const auto near = nearest_of(key, names);
      return Error{ErrorCode::invalid,
                   fmt::format("--allow-mismatch {}: there is no such fact{}; there are: {}", key,
                               near.empty() ? "" : fmt::format(", did you mean \"{}\"?", near), fmt::join(names, ", "))};
    }
    if (!rule->may_differ) {
      return Error{ErrorCode::invalid, fmt::format("--allow-mismatch {}: it can change results: {}", key, rule->why)};
    }
  }
  return ok_status();
}

std::string processor_model() {
  std::ifstream in("/proc/cpuinfo");
  std::string line;
  while (std::getline(in, line)) {
    const auto colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) {
      return line.substr(colon + 2);
    }
  }
  return "unknown";
}

namespace {

// Where they are kept is each machine's own affair.
std::string describe_checkpoints(const RunSpec& spec) {
  if (!spec.keeps_checkpoints) {
    return "none";
  }
  const bool in_between = spec.checkpoint && spec.checkpoint->every;
  return fmt::format("{}{}", in_between ? fmt::format("every {} steps", *spec.checkpoint->every) : "at the end",
                     spec.resumes ? ", going on from the newest" : "");
}

}  // namespace

Result<Fingerprint> take_fingerprint(const RunSpec& spec, const std::string& version, const std::string& build, bool waits) {
  const bool native = spec.numerics == Numerics::native;
  XDC_TRY(pin_numerics(native ? CpuNumerics::native : CpuNumerics::portable));
  const std::string in_use = describe_numerics();  // "oneDNN 2.6.3, AVX2"
  const auto comma = in_use.find(", ");
  return Fingerprint{{"version", version},
                     {"build", build},
                     {"scenario", spec.scenario_digest},
                     {"checkpoints", describe_checkpoints(spec)},
                     {"rehearsal", spec.payload == PayloadKind::real ? "none"
                                   : waits                           ? "waits for computations"
                                                                     : "without waiting"},
                     {"numerics", native ? "native" : "portable"},
                     {"instructions", comma == std::string::npos ? in_use : in_use.substr(comma + 2)},
                     {"oneDNN", in_use.substr(0, comma)},
                     {"processor", processor_model()}};
}

std::string differences(const std::vector<std::pair<std::string, Fingerprint>>& all, const std::vector<std::string>& allowed) {
  std::string text;
  for (const FactRule& rule : fact_rules()) {
    if (std::find(allowed.begin(), allowed.end(), rule.key) != allowed.end()) continue;
    std::vector<std::pair<std::string, std::string>> groups;  // value, who
    for (const auto& [who, facts] : all) {
      const auto fact = std::find_if(facts.begin(), facts.end(), [&rule](const auto& f) { return f.first == rule.key; });
      const std::string value = fact == facts.end() ? "(not said)" : fact->second;
      const auto group = std::find_if(groups.begin(), groups.end(), [&value](const auto& g) { return g.first == value; });
      if (group == groups.end()) {
        groups.emplace_back(value, who);
      } else {
        group->second += "; " + who;
      }
    }
    if (groups.size() < 2) continue;
    text += fmt::format("\n  {}: {}{}", rule.key, rule.why,
                        rule.may_differ ? fmt::format(" (--allow-mismatch {}, at every launcher, lets it differ)", rule.key) : "");
    for (const auto& [value, who] : groups) text += fmt::format("\n    {:<34}  {}", value, who);
  }
  return text;
}

}  // namespace xdc
