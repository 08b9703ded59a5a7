#include "sim/fabric.hpp"

#include <fmt/format.h>

#include "sim/communicator.hpp"

namespace xdc {

Channel::Channel(View view, std::string purpose, const Folding& folding)
    : view_(std::move(view)), purpose_(std::move(purpose)), ends_(view_.members.size()) {
  for (const MemberId member : view_.members) {
    const Rank actor = view_.rank_of(folding.actor[static_cast<size_t>(member)]);
    XDC_CHECK_MSG(actor >= 0, "a member is in a view without the one that acts for it");
    actors_.push_back(actor);
  }
}

Flow& FabricHub::flow(Channel& channel, Rank from, Rank to) {
  auto& found = channel.flow(from, to);
  if (found == nullptr) {
    for (const auto& [a, b] : {std::pair(from, to), std::pair(to, from)}) {
      const auto sender = channel.view().members[static_cast<size_t>(a)];
      const auto receiver = channel.view().members[static_cast<size_t>(b)];
      auto& count = traffic[static_cast<size_t>(sender)][receiver];
      count.to = receiver;
      channel.flow(a, b) = std::make_unique<Flow>(agenda, transfers, platform.path(sender, receiver), count);
      if (watch != nullptr && watch->message) {
        channel.flow(a, b)->watch(watch->message, sender, receiver, channel.purpose());
      }
      channel.end(a).peers.push_back(b);
    }
    for (const auto& [a, b] : {std::pair(from, to), std::pair(to, from)}) {
      if (channel.end(a).gone) {
        channel.flow(a, b)->forget_sends();
        channel.flow(b, a)->forget_receives();
        plan_news(channel, a, b);
      }
    }
  }
  return *channel.flow(from, to);
}

void FabricHub::plan_news(Channel& channel, Rank gone, Rank told) {
  agenda.at(channel.end(gone).since + flow(channel, gone, told).latency(), [&channel, gone, told] {
    if (auto* listener = channel.end(told).communicator; listener != nullptr) {
      listener->hear(gone);
    }
  });
}

Result<std::unique_ptr<Communicator>> SimFabric::connect(const View& view, std::string_view purpose, Deadline deadline) {
  XDC_TRY_ASSIGN(auto* channel, hub_.channels.meet(view, purpose, me_, deadline,
                                                   [&] { return std::make_unique<Channel>(view, std::string(purpose), hub_.folding); }));
  return std::unique_ptr<Communicator>(std::make_unique<SimCommunicator>(hub_, device_, *channel, view.rank_of(me_)));
}

Result<std::unique_ptr<Collectives>> SimFabric::native_collectives(const View& view, std::string_view purpose, Deadline deadline) {
  for (const MemberId member : view.members) {
    const auto& m = hub_.cluster.members[static_cast<size_t>(member)];
    if (m.role != Role::worker || m.datacenter != hub_.cluster.members[static_cast<size_t>(view.members[0])].datacenter) {
      return Error{ErrorCode::unsupported, fmt::format("native collectives join the devices of one datacenter; {} is not one of them",
                                                       hub_.cluster.describe(member))};
    }
  }
  XDC_TRY_ASSIGN(auto* group, hub_.groups.meet(view, purpose, me_, deadline, [&] {
    return std::make_unique<CollectiveGroup>(hub_.agenda, hub_.platform, hub_.cluster, hub_.folding, view, std::string(purpose));
  }));
  return std::unique_ptr<Collectives>(std::make_unique<SimCollectives>(*group, device_, view.rank_of(me_)));
}

std::vector<TrafficCount> SimFabric::traffic() const {
  std::vector<TrafficCount> counts;
  for (const auto& [to, count] : hub_.traffic[static_cast<size_t>(me_)]) {
    if (count.messages > 0) {
      counts.push_back(count);
    }
  }
  return counts;
}

}  // namespace xdc
