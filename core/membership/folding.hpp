// Which members does nothing tell apart, so that one may act for all of them in a simulation? Two are alike when they compute and
// send the same sizes at the same times, and when every port and line that their messages cross is shared in the same way.
//
// The classes are the coarsest equitable partition (McKay 1981, section 2.4) that keeps apart what differs to begin with:
//   members start with the colour (datacenter, role, likeness); the first member, which leads votes, has one of its own
//   a node's colour is what its members' colours are; a member's colour is refined by its node's
//   where lanes join workers of equal local rank across datacenters, by the colours of those as well
//   until no colour is split any more
// So all nodes of one colour have the same members, and what one class's members send to another's is the same for each: k like
// messages may be one flow of k times the bytes, weighing k times as much where it meets others, and m like ports one of m times
// the rate.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "core/membership/cluster.hpp"

namespace xdc {

// What a worker's strategy says of it.
struct Likeness {
  // Equal: the same part in the exchange, in sizes and in kinds of peers.
  std::vector<int64_t> sizes;
  // It speaks to the workers of its own local rank in other datacenters, and otherwise to members that are alike to nobody.
  bool joins_equal_ranks = false;
};

struct Folding {
  // Per member: who acts for it, the lowest of its class; itself, where it acts.
  std::vector<MemberId> actor;
  // Per member: how many it acts for, itself included; 0 where another acts for it.
  std::vector<int> stands_for;
  // (datacenter, node) -> how many nodes it stands for. Nodes without an acting member are absent.
  std::map<std::pair<int, int>, int> nodes;

  bool acts(MemberId member) const { return stands_for[static_cast<size_t>(member)] > 0; }
  int actors() const;
};

// Everyone for himself.
Folding unfolded(const Cluster& cluster);

// `likeness` per member; nullopt: alike to nobody. Workers that join equal ranks are folded only where all datacenters have the same
// number of workers: everywhere else a lane joins other ranks.
Folding fold(const Cluster& cluster, const std::vector<std::optional<Likeness>>& likeness);

}  // namespace xdc
