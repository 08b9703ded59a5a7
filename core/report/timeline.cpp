#include "core/report/timeline.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace xdc {
namespace {

using Json = nlohmann::ordered_json;

std::string json_text(std::string_view text) { return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace); }

// Nanoseconds as the microseconds of the format, exactly.
std::string micros(int64_t ns) { return fmt::format("{}.{:03}", ns / 1000, ns % 1000); }

}  // namespace

Timeline::Timeline(int first_process, const std::string& variant, std::vector<std::string> datacenters, std::vector<Member> members)
    : first_process_(first_process), datacenters_(std::move(datacenters)), members_(std::move(members)) {
  for (size_t d = 0; d < datacenters_.size(); ++d) {
    const int process = first_process_ + static_cast<int>(d);
    event(fmt::format(R"({{"ph":"M","name":"process_name","pid":{},"args":{{"name":{}}}}})", process,
                      json_text(variant + ": " + datacenters_[d])));
    event(fmt::format(R"({{"ph":"M","name":"process_sort_index","pid":{},"args":{{"sort_index":{}}}}})", process, process));
  }
}

int Timeline::process_of(int member) const { return first_process_ + members_[static_cast<size_t>(member)].datacenter; }

int Timeline::thread_of(int member, std::string_view track) {
  const auto [found, is_new] = threads_.try_emplace({member, std::string(track)}, static_cast<int>(threads_.size()) + 1);
  if (is_new) {
    const auto name = fmt::format("{} {}", members_[static_cast<size_t>(member)].name, track);
    event(fmt::format(R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":{}}}}})", process_of(member), found->second,
                      json_text(name)));
    // A member's tracks together, members in order.
    event(fmt::format(R"({{"ph":"M","name":"thread_sort_index","pid":{},"tid":{},"args":{{"sort_index":{}}}}})", process_of(member),
                      found->second, member));
  }
  return found->second;
}

void Timeline::work(int member, std::string_view track, std::string_view name, int64_t start_ns, int64_t end_ns) {
  const int thread = thread_of(member, track);
  event(fmt::format(R"({{"ph":"X","name":{},"cat":"work","pid":{},"tid":{},"ts":{},"dur":{}}})", json_text(name), process_of(member),
                    thread, micros(start_ns), micros(end_ns - start_ns)));
}

void Timeline::message(const Message& message) {
  const auto& from = members_[static_cast<size_t>(message.from)];
  const auto& to = members_[static_cast<size_t>(message.to)];
  const auto& here = datacenters_[static_cast<size_t>(from.datacenter)];
  const bool inside = from.datacenter == to.datacenter;
  const auto track = json_text(inside ? "inside" : here + " → " + datacenters_[static_cast<size_t>(to.datacenter)]);
  const auto place =
      fmt::format(R"("name":{},"cat":"{}","id":{},"pid":{},"tid":0)", track, inside ? "lan" : "wan", ++messages_, process_of(message.from));
  event(fmt::format(R"({{"ph":"b",{},"ts":{},"args":{{"from":{},"to":{},"channel":{},"round":{},"payload_bytes":{},"wire_bytes":{},)"
                    R"("arrival_us":{}}}}})",
                    place, micros(message.start_ns), json_text(from.name), json_text(to.name), json_text(message.channel), message.round,
                    message.payload_bytes, message.wire_bytes, micros(message.arrival_ns)));
  event(fmt::format(R"({{"ph":"e",{},"ts":{}}})", place, micros(message.left_ns)));
}

void Timeline::mark(int member, std::string_view name, int64_t time_ns, const std::vector<std::pair<std::string, double>>& values) {
  auto args = Json::object();
  for (const auto& [key, value] : values) args[key] = value;
  event(fmt::format(R"({{"ph":"i","s":"p","name":{},"cat":"mark","pid":{},"tid":{},"ts":{},"args":{}}})", json_text(name),
                    process_of(member), thread_of(member, "steps"), micros(time_ns), args.dump()));
}

void Timeline::event(std::string text) {
  text_ += text;
  text_ += ",\n";
}

std::string Timeline::take() { return std::exchange(text_, {}); }

std::string timeline_file(const std::vector<std::string>& parts) {
  std::string out = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
  for (const auto& part : parts) out += part;
  if (out.ends_with(",\n")) out.erase(out.size() - 2);
  return out + "\n]}\n";
}

}  // namespace xdc
