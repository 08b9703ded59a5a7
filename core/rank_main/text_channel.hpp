// How do members tell each other more than a few words? A text behind its kind and its size, on a channel of all members.
#pragma once

#include <memory>
#include <string>

#include "core/membership/cluster.hpp"
#include "core/seam/fabric.hpp"

namespace xdc {

class TextChannel {
 public:
  struct Message {
    uint64_t kind = 0;
    std::string text;
  };

  // The cluster outlives it; the communicator's ranks are its members.
  TextChannel(std::unique_ptr<Communicator> communicator, const Cluster& cluster)
      : communicator_(std::move(communicator)), cluster_(cluster) {}

  Communicator& raw() { return *communicator_; }

  // Errors of all: those of the channel, with the member that was waited for; they break it.
  Status wait(WorkPtr work, Rank peer, Deadline deadline);
  Status tell(Rank to, uint64_t kind, const std::string& text, Deadline deadline);
  Result<Message> hear(Rank from, Deadline deadline);

 private:
  std::unique_ptr<Communicator> communicator_;
  const Cluster& cluster_;
};

}  // namespace xdc
