#include "tests/contract/world.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <mutex>
#include <utility>

namespace xdc::contract {
namespace {

std::mutex notes_mutex;
std::vector<std::string> notes;

}  // namespace

Setting setting_of(std::vector<int> members_per_datacenter) {
  Setting setting;
  setting.topology.network = NetworkModel::plain;
  for (size_t dc = 0; dc < members_per_datacenter.size(); ++dc) {
    DatacenterSpec spec;
    spec.name = fmt::format("dc{}", dc);
    spec.nodes = members_per_datacenter[dc];
    spec.lan = {1.25e9, {50'000}};
    spec.intra_node = spec.lan;
    setting.topology.datacenters.push_back(spec);
    setting.cluster.datacenters.push_back(spec.name);
    for (int node = 0; node < spec.nodes; ++node) {
      const auto id = static_cast<MemberId>(setting.cluster.members.size());
      setting.cluster.members.push_back({id, Role::worker, static_cast<int>(dc), node, 0, node});
    }
    for (size_t other = 0; other < dc; ++other) {
      WanLinkSpec link;
      link.between = {setting.topology.datacenters[other].name, spec.name};
      link.line = {125e6, milliseconds(15)};
      setting.topology.links.push_back(link);
    }
  }
  return setting;
}

void note(std::string problem) {
  const std::lock_guard lock(notes_mutex);
  notes.push_back(std::move(problem));
}

std::vector<std::string> take_notes() {
  const std::lock_guard lock(notes_mutex);
  return std::exchange(notes, {});
}

bool expect(bool holds, std::string_view what, std::string_view detail, const char* file, int line) {
  if (!holds) {
    note(fmt::format("{}:{}: {}{}{}", file, line, what, detail.empty() ? "" : ": ", detail));
  }
  return holds;
}

void hold(const Setting& setting, const Body& body) {
  const auto problems = world().run(setting, body);
  for (const auto& problem : problems) {
    UNSCOPED_INFO(problem);
  }
  REQUIRE(problems.empty());
}

}  // namespace xdc::contract
