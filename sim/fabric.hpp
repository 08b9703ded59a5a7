// How do members speak in the simulated world? Channels between the members of a view, each a set of flows; and hardware
// collectives inside a datacenter (sim/collectives.hpp).
//
// A member that leaves a channel, by abort, by a failure or by destroying its communicator, is `peer_lost` to works that wait
// for it, once the news has had time to travel: what it had sent before still arrives first.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/seam/fabric.hpp"
#include "sim/collectives.hpp"
#include "sim/device.hpp"
#include "sim/flow.hpp"
#include "sim/rendezvous.hpp"
#include "sim/trace.hpp"

namespace xdc {

// What one channel's members share.
class Channel {
 public:
  Channel(View view, std::string purpose, const Folding& folding);

  const View& view() const { return view_; }
  const std::string& purpose() const { return purpose_; }

  struct End {
    SimCommunicator* communicator = nullptr;
    std::optional<Error> gone;  // what its peers are told
    TimePoint since;
    std::vector<Rank> peers;  // with flows to and from it, in the order of first use
  };
  // Who acts for a rank: itself, where nobody else does.
  Rank actor_of(Rank rank) const { return actors_[static_cast<size_t>(rank)]; }
  // Between ranks that act.
  End& end(Rank rank) { return ends_[static_cast<size_t>(rank)]; }
  std::unique_ptr<Flow>& flow(Rank from, Rank to) {
    return flows_[static_cast<uint64_t>(from) * static_cast<uint64_t>(view_.size()) + static_cast<uint64_t>(to)];
  }

 private:
  View view_;
  std::string purpose_;
  std::vector<Rank> actors_;
  std::vector<End> ends_;
  std::unordered_map<uint64_t, std::unique_ptr<Flow>> flows_;
};

// What the fabrics of all members share.
class FabricHub {
 public:
  FabricHub(Agenda& a, const Platform& p, const Cluster& c, const Folding& f)
      : agenda(a), platform(p), cluster(c), folding(f), transfers(a), channels(a, c, f), groups(a, c, f), traffic(c.members.size()) {}

  // The flow from one acting rank of a channel to another; the pair's are created by whichever end speaks first.
  Flow& flow(Channel& channel, Rank from, Rank to);
  // `gone` has left; `told` hears of it when the news has travelled.
  void plan_news(Channel& channel, Rank gone, Rank told);

  Agenda& agenda;
  const Platform& platform;
  const Cluster& cluster;
  const Folding& folding;
  Transfers transfers;
  Rendezvous<Channel> channels;
  Rendezvous<CollectiveGroup> groups;
  std::vector<std::map<MemberId, TrafficCount>> traffic;  // by sender
  const Watch* watch = nullptr;
};

class SimFabric final : public Fabric {
 public:
  SimFabric(FabricHub& hub, SimDevice& device, MemberId me) : hub_(hub), device_(device), me_(me) {}
  Result<std::unique_ptr<Communicator>> connect(const View& view, std::string_view purpose, Deadline deadline) override;
  Result<std::unique_ptr<Collectives>> native_collectives(const View& view, std::string_view purpose, Deadline deadline) override;
  std::vector<TrafficCount> traffic() const override;

 private:
  FabricHub& hub_;
  SimDevice& device_;
  MemberId me_;
};

}  // namespace xdc
