#include "tools/onlookers.hpp"

#include <fmt/format.h>

#include <iterator>
#include <memory>

#include "core/base/digest.hpp"
#include "core/rank_main/folding_of.hpp"
#include "core/report/event_line.hpp"
#include "core/report/timeline.hpp"

namespace xdc {
namespace {

// Every message of an exchange says its round first: to_control in core/collectives/exchange.cpp.
int64_t round_of(const ControlWords& control) { return static_cast<int64_t>(control.word[0]); }

std::string contents_of(const Bytes& payload) {
  if (payload.phantom() || payload.size == 0) return "none";
  return digest(std::span<const std::byte>(payload.data, payload.size));
}

int64_t integer_field(const TraceEvent& event, std::string_view key) {
  for (const auto& field : event.fields) {
    if (field.key == key && std::holds_alternative<int64_t>(field.value)) return std::get<int64_t>(field.value);
  }
  return 0;
}

std::vector<Timeline::Member> timeline_members(const Cluster& cluster) {
  std::vector<Timeline::Member> out;
  for (const auto& member : cluster.members) {
    // "beijing rank 3" without the datacenter, which is the process.
    const auto& datacenter = cluster.datacenters[static_cast<size_t>(member.datacenter)];
    out.push_back({member.datacenter, cluster.describe(member.id).substr(datacenter.size() + 1)});
  }
  return out;
}

void record_event(Timeline& timeline, const TraceEvent& event) {
  if (event.event == "exchange") {
    timeline.work(event.member, "exchange", fmt::format("round {}", event.step), event.time.ns,
                  event.time.ns + integer_field(event, "duration_ns"));
  } else if (event.event == "step") {
    if (event.member == 0) timeline.mark(event.member, fmt::format("step {} done", event.step), event.time.ns, {});
  } else {
    std::vector<std::pair<std::string, double>> values;
    for (const auto& field : event.fields) {
      if (const auto* value = std::get_if<double>(&field.value)) values.emplace_back(field.key, *value);
    }
    timeline.mark(event.member, event.event, event.time.ns, values);
  }
}

}  // namespace

Onlookers check_onlookers(const RunSpec& spec, const TaskVoice& voice) {
  const auto& cluster = spec.cluster();
  Onlookers out{voice.progress, {}, {}};
  out.event = [&cluster, &voice](const TraceEvent& event) {
    auto line = fmt::format("{}, step or round {}, {} ns: {}", cluster.describe(event.member), event.step, event.time.ns, event.event);
    for (const auto& field : event.fields) {
      std::visit([&](const auto& value) { fmt::format_to(std::back_inserter(line), ", {} {}", field.key, value); }, field.value);
    }
    voice.text(line + "\n");
  };
  out.watch.message = [&cluster, &voice](const MessageSeen& seen) {
    const auto& word = seen.control.word;
    voice.text(fmt::format(
        "{}, round {}, {} to {} ns: message to {} on \"{}\", {} payload of {} bytes, contents {}, control {:x} {} {}, there at {} ns\n",
        cluster.describe(seen.from), round_of(seen.control), seen.start.ns, seen.left.ns, cluster.describe(seen.to), seen.channel,
        seen.payload_bytes, seen.wire_bytes, contents_of(seen.payload), word[1], word[2], word[3], seen.arrival.ns));
  };
  out.watch.computation = [&cluster, &voice](const ComputationSeen& seen) {
    voice.text(
        fmt::format("{}, {} to {} ns: computation on \"{}\"\n", cluster.describe(seen.member), seen.start.ns, seen.end.ns, seen.stream));
  };
  return out;
}

Onlookers timeline_onlookers(const RunSpec& spec, int first_process, const TaskVoice& voice) {
  auto timeline = std::make_shared<Timeline>(first_process, spec.variant, spec.cluster().datacenters, timeline_members(spec.cluster()));
  Onlookers out{voice.progress, {}, {}};
  out.event = [timeline, &voice](const TraceEvent& event) {
    record_event(*timeline, event);
    voice.text(timeline->take());
  };
  out.watch.message = [timeline, &voice](const MessageSeen& seen) {
    timeline->message({seen.from, seen.to, seen.channel, round_of(seen.control), seen.start.ns, seen.left.ns, seen.arrival.ns,
                       seen.payload_bytes, seen.wire_bytes});
    voice.text(timeline->take());
  };
  out.watch.computation = [timeline, &voice](const ComputationSeen& seen) {
    if (seen.end > seen.start) timeline->work(seen.member, seen.stream, seen.stream, seen.start.ns, seen.end.ns);
    voice.text(timeline->take());
  };
  return out;
}

Observer events_onlooker(const RunSpec& spec, bool expand, const TaskVoice& voice) {
  const auto& cluster = spec.cluster();
  const Folding folding = expand ? unfolded(cluster) : folding_of(spec);
  // By acting member: all that it speaks for, itself first.
  std::vector<std::vector<EventSource>> sources(cluster.members.size());
  for (const auto& member : cluster.members) {
    const auto actor = static_cast<size_t>(folding.actor[static_cast<size_t>(member.id)]);
    sources[actor].push_back({spec.variant, cluster.datacenters[static_cast<size_t>(member.datacenter)], member.id});
  }
  return [sources = std::move(sources), &voice](const TraceEvent& event) {
    for (const auto& source : sources[static_cast<size_t>(event.member)]) {
      voice.events(event_line(source, event.time, event.step, event.event, {event.fields.begin(), event.fields.size()}));
    }
  };
}

}  // namespace xdc
