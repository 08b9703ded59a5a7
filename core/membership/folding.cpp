#include "core/membership/folding.hpp"

#include <algorithm>
#include <string>

#include "core/base/check.hpp"

namespace xdc {
namespace {

// Small numbers for equal things, in the order of their first appearance.
template <class Key>
class Colours {
 public:
  int of(const Key& key) { return ids_.try_emplace(key, static_cast<int>(ids_.size())).first->second; }
  int count() const { return static_cast<int>(ids_.size()); }

 private:
  std::map<Key, int> ids_;
};

using Colouring = std::vector<int>;

bool equal_workers(const Cluster& cluster) {
  for (size_t d = 1; d < cluster.datacenters.size(); ++d) {
    if (cluster.workers_of(static_cast<int>(d)).size() != cluster.workers_of(0).size()) {
      return false;
    }
  }
  return true;
}

// Number of colours, and each member's.
std::pair<int, Colouring> first_colours(const Cluster& cluster, const std::vector<std::optional<Likeness>>& likeness) {
  // (datacenter, whose own, sizes)
  Colours<std::tuple<int, MemberId, std::vector<int64_t>>> colours;
  const bool equal = equal_workers(cluster);
  Colouring out;
  for (const auto& member : cluster.members) {
    const auto& like = likeness[static_cast<size_t>(member.id)];
    const bool alone = member.id == 0 || member.role == Role::server || !like || (like->joins_equal_ranks && !equal);
    out.push_back(alone ? colours.of({member.datacenter, member.id, {}}) : colours.of({member.datacenter, -1, like->sizes}));
  }
  return {colours.count(), out};
}

std::map<std::pair<int, int>, int> node_colours(const Cluster& cluster, const Colouring& colour) {
  std::map<std::pair<int, int>, std::vector<int>> on_node;
  for (const auto& member : cluster.members) {
    on_node[{member.datacenter, member.node}].push_back(colour[static_cast<size_t>(member.id)]);
  }
  Colours<std::vector<int>> colours;
  std::map<std::pair<int, int>, int> out;
  for (auto& [node, members] : on_node) {
    std::sort(members.begin(), members.end());
    out[node] = colours.of(members);
  }
  return out;
}

std::pair<int, Colouring> by_nodes(const Cluster& cluster, const Colouring& colour) {
  const auto nodes = node_colours(cluster, colour);
  Colours<std::pair<int, int>> colours;
  Colouring out;
  for (const auto& member : cluster.members) {
    out.push_back(colours.of({colour[static_cast<size_t>(member.id)], nodes.at({member.datacenter, member.node})}));
  }
  return {colours.count(), out};
}

std::pair<int, Colouring> by_lanes(const Cluster& cluster, const std::vector<std::optional<Likeness>>& likeness, const Colouring& colour) {
  std::map<int, std::vector<int>> lanes;  // local rank -> its members' colours, in the order of the datacenters
  const auto joins = [&](const Member& member) {
    const auto& like = likeness[static_cast<size_t>(member.id)];
    return member.role == Role::worker && like && like->joins_equal_ranks;
  };
  for (const auto& member : cluster.members) {
    if (joins(member)) {
      lanes[member.local_rank].push_back(colour[static_cast<size_t>(member.id)]);
    }
  }
  Colours<std::pair<int, std::vector<int>>> colours;
  Colouring out;
  for (const auto& member : cluster.members) {
    out.push_back(colours.of({colour[static_cast<size_t>(member.id)], joins(member) ? lanes[member.local_rank] : std::vector<int>{}}));
  }
  return {colours.count(), out};
}

}  // namespace

int Folding::actors() const {
  return static_cast<int>(std::count_if(stands_for.begin(), stands_for.end(), [](int count) { return count > 0; }));
}

Folding unfolded(const Cluster& cluster) {
  Folding out;
  for (const auto& member : cluster.members) {
    out.actor.push_back(member.id);
    out.stands_for.push_back(1);
    out.nodes[{member.datacenter, member.node}] = 1;
  }
  return out;
}

Folding fold(const Cluster& cluster, const std::vector<std::optional<Likeness>>& likeness) {
  XDC_CHECK(likeness.size() == cluster.members.size());
  auto [count, colour] = first_colours(cluster, likeness);
  for (int before = 0; before != count;) {
    before = count;
    std::tie(count, colour) = by_nodes(cluster, colour);
    std::tie(count, colour) = by_lanes(cluster, likeness, colour);
  }
  Folding out;
  out.stands_for.resize(cluster.members.size());
  std::map<int, MemberId> first;
  for (const auto& member : cluster.members) {
    const MemberId actor = first.try_emplace(colour[static_cast<size_t>(member.id)], member.id).first->second;
    out.actor.push_back(actor);
    ++out.stands_for[static_cast<size_t>(actor)];
  }
  // A colour's first node has the first member of each of its classes.
  const auto nodes = node_colours(cluster, colour);
  std::map<int, int> like_it;
  for (const auto& [node, its_colour] : nodes) {
    ++like_it[its_colour];
  }
  for (const auto& member : cluster.members) {
    if (out.acts(member.id)) {
      out.nodes[{member.datacenter, member.node}] = like_it.at(nodes.at({member.datacenter, member.node}));
    }
  }
  return out;
}

}  // namespace xdc
