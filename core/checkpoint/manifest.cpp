#include "core/checkpoint/manifest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/base/digest.hpp"

namespace xdc {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kSchema = 2;
constexpr const char* kRandom = "every draw is Philox keyed by seed, name and step: the step is the state of all random streams";

std::string text_of(const Json& json) { return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n"; }

// JSON has no numbers for what is not finite; nothing is decided by these.
Json number(std::optional<double> value) { return value && std::isfinite(*value) ? Json(*value) : Json(nullptr); }

// Remembers the first thing that is not as it should be.
class Reader {
 public:
  const Json& at(const Json& object, const char* key) {
    static const Json nothing;
    if (const auto found = object.is_object() ? object.find(key) : object.end(); object.is_object() && found != object.end()) return *found;
    wrong(key);
    return nothing;
  }
  int64_t integer(const Json& object, const char* key) {
    const auto& value = at(object, key);
    const bool fits = value.is_number_integer() &&
                      (!value.is_number_unsigned() || value.get<uint64_t>() <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max()));
    if (!fits || value.get<int64_t>() < 0) return wrong(key), 0;
    return value.get<int64_t>();
  }
  uint64_t seed(const Json& object, const char* key) {
    const auto& value = at(object, key);
    return value.is_number_integer() ? value.get<uint64_t>() : (wrong(key), 0);
  }
  std::string text(const Json& object, const char* key) {
    const auto* text = at(object, key).get_ptr<const std::string*>();
    return text != nullptr ? *text : (wrong(key), std::string());
  }
  std::optional<double> real(const Json& object, const char* key) {
    const auto& value = at(object, key);
    if (!value.is_number() && !value.is_null()) wrong(key);
    return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
  }
  const Json& list(const Json& object, const char* key) {
    static const Json nothing = Json::array();
    const auto& value = at(object, key);
    return value.is_array() ? value : (wrong(key), nothing);
  }
  void wrong(const char* key) {
    if (wrong_.empty()) wrong_ = key;
  }
  const std::string& what() const { return wrong_; }

 private:
  std::string wrong_;
};

Json dealt_json(const SampleSchedule::Deals& dealt) {
  auto deals = Json::array();
  for (const auto& deal : dealt.deals) {
    auto datacenters = Json::array();
    for (const auto& one : deal.datacenters) datacenters.push_back({{"samples", one.samples}, {"ranks", one.ranks}, {"batch", one.batch}});
    deals.push_back({{"after_step", deal.after_step}, {"datacenters", std::move(datacenters)}});
  }
  return {{"epoch_begins_after_step", dealt.step}, {"epoch", dealt.epoch}, {"samples_before", dealt.samples}, {"deals", std::move(deals)}};
}

SampleSchedule::Deals read_dealt(const Json& json, Reader& reader) {
  SampleSchedule::Deals out{
      reader.integer(json, "epoch_begins_after_step"), reader.integer(json, "epoch"), reader.integer(json, "samples_before"), {}};
  for (const auto& deal : reader.list(json, "deals")) {
    out.deals.push_back({reader.integer(deal, "after_step"), {}});
    for (const auto& one : reader.list(deal, "datacenters")) {
      out.deals.back().datacenters.push_back(
          {reader.integer(one, "samples"), static_cast<int>(reader.integer(one, "ranks")), static_cast<int>(reader.integer(one, "batch"))});
    }
  }
  // What a schedule asks for.
  bool sound = !out.deals.empty() && out.deals.front().after_step == out.step && !out.deals.front().datacenters.empty();
  for (size_t i = 0; sound && i < out.deals.size(); ++i) {
    const auto& datacenters = out.deals[i].datacenters;
    sound = datacenters.size() == out.deals.front().datacenters.size() &&
            (i == 0 || out.deals[i - 1].after_step <= out.deals[i].after_step) &&
            std::all_of(datacenters.begin(), datacenters.end(),
                        [](const auto& one) { return one.samples > 0 && one.ranks > 0 && one.batch > 0; });
  }
  if (!sound) reader.wrong("deals");
  return out;
}

Json files_json(const std::vector<PieceFile>& files) {
  auto out = Json::array();
  for (const auto& file : files) {
    out.push_back({{"name", file.name},
                   {"member", file.member},
                   {"size", file.size},
                   {"xxh3_128", file.digest},
                   {"residual_norm", number(file.residual_norm)}});
  }
  return out;
}

std::vector<PieceFile> read_files(const Json& json, Reader& reader) {
  std::vector<PieceFile> out;
  for (const auto& file : json) {
    out.push_back({reader.text(file, "name"), reader.text(file, "member"), reader.integer(file, "size"), reader.text(file, "xxh3_128"),
                   reader.real(file, "residual_norm").value_or(0)});
  }
  return out;
}

Json body(const Manifest& m) {
  auto settings = Json::object();
  for (const auto& [key, value] : m.settings) settings[key] = value;
  return {{"schema", kSchema},
          {"kind", "xdc checkpoint"},
          {"version", m.version},
          {"scenario_digest", m.scenario_digest},
          {"variant", m.variant},
          {"seed", m.seed},
          {"step", m.step},
          {"round", m.round},
          {"epoch", m.epoch},
          {"samples", m.samples},
          {"elapsed_ns", m.elapsed_ns},
          {"random", kRandom},
          {"dealt", dealt_json(m.dealt)},
          {"settings", std::move(settings)},
          {"layout", m.layout},
          {"lasting_layout", m.lasting_layout},
          {"members", m.members},
          {"loss", number(m.loss)},
          {"accuracy", number(m.accuracy)},
          {"files", files_json(m.files)}};
}

}  // namespace

const PieceFile* Manifest::find(std::string_view name) const {
  const auto found = std::find_if(files.begin(), files.end(), [&](const PieceFile& file) { return file.name == name; });
  return found == files.end() ? nullptr : &*found;
}

std::string differing_settings(const Manifest& manifest, const std::vector<std::pair<std::string, std::string>>& settings) {
  using Settings = std::vector<std::pair<std::string, std::string>>;
  const auto said = [](const Settings& all, const std::string& key) {
    const auto found = std::find_if(all.begin(), all.end(), [&key](const auto& one) { return one.first == key; });
    return found == all.end() || found->second.empty() ? std::string("(nothing)") : found->second;
  };
  Settings all = settings;
  for (const auto& one : manifest.settings) {
    if (std::none_of(settings.begin(), settings.end(), [&one](const auto& ours) { return ours.first == one.first; })) all.push_back(one);
  }
  std::string out;
  for (const auto& [key, value] : all) {
    const auto there = said(manifest.settings, key), here = said(settings, key);
    if (there != here) out += fmt::format("\n  {}: there {}; here {}", key, there, here);
    if (there != here && key == "samples") out += " (data.samples says how many each datacenter has, whatever its ranks)";
  }
  return out;
}

std::string to_json(const std::vector<PieceFile>& files) { return files_json(files).dump(-1, ' ', false, Json::error_handler_t::replace); }

Result<std::vector<PieceFile>> pieces_from_json(std::string_view text) {
  const auto json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  Reader reader;
  if (!json.is_array()) return Error{ErrorCode::failed, "a list of files is no JSON"};
  auto out = read_files(json, reader);
  if (!reader.what().empty()) return Error{ErrorCode::failed, fmt::format("a list of files has no sound \"{}\"", reader.what())};
  return out;
}

std::string to_json(const Manifest& manifest) {
  Json json = body(manifest);
  const std::string own = digest(text_of(json));
  json["manifest_xxh3_128"] = own;
  return text_of(json);
}

Result<Manifest> manifest_from_json(std::string_view text) {
  auto json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return Error{ErrorCode::failed, "its manifest is no JSON"};
  Reader reader;
  const std::string said = reader.text(json, "manifest_xxh3_128");
  json.erase("manifest_xxh3_128");
  if (digest(text_of(json)) != said) return Error{ErrorCode::failed, "its manifest is damaged: the digest in it is another one"};
  if (const int64_t schema = reader.integer(json, "schema"); schema != kSchema) {
    return Error{ErrorCode::failed, fmt::format("its manifest has schema {}, this version reads {}", schema, kSchema)};
  }
  Manifest out;
  out.version = reader.text(json, "version");
  out.scenario_digest = reader.text(json, "scenario_digest");
  out.variant = reader.text(json, "variant");
  out.seed = reader.seed(json, "seed");
  out.step = reader.integer(json, "step");
  out.round = reader.integer(json, "round");
  out.epoch = reader.integer(json, "epoch");
  out.samples = reader.integer(json, "samples");
  out.elapsed_ns = reader.integer(json, "elapsed_ns");
  out.dealt = read_dealt(reader.at(json, "dealt"), reader);
  const auto& settings = reader.at(json, "settings");
  if (!settings.is_object()) reader.wrong("settings");
  for (const auto& [key, value] : settings.items()) out.settings.emplace_back(key, reader.text(settings, key.c_str()));
  out.layout = reader.text(json, "layout");
  out.lasting_layout = reader.text(json, "lasting_layout");
  for (const auto& member : reader.list(json, "members")) {
    const auto* name = member.get_ptr<const std::string*>();
    if (name == nullptr) reader.wrong("members");
    out.members.push_back(name != nullptr ? *name : std::string());
  }
  out.loss = reader.real(json, "loss");
  out.accuracy = reader.real(json, "accuracy");
  out.files = read_files(reader.list(json, "files"), reader);
  if (!reader.what().empty()) {
    return Error{ErrorCode::failed, fmt::format("its manifest has no sound \"{}\"", reader.what())};
  }
  return out;
}

}  // namespace xdc
