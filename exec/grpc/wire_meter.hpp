// How many bytes crossed the sockets? Asked of the kernel, because gRPC tells nobody which descriptor its connection has.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "core/seam/fabric.hpp"
#include "exec/grpc/socket.hpp"

namespace xdc {

// Counts what TCP has sent and received for connections that this process made: everything that is in a segment's data, so HTTP/2, TLS and
// the handshakes too, but no headers of TCP and IP. What was sent counts as often as it was sent; what was received, once.
// Any thread.
class WireMeter {
 public:
  struct Count {
    int64_t sent = 0, received = 0;
  };

  // `member` has accepted a connection of ours to this address. Finds it among the process's descriptors, with others to the same address
  // that are new, and holds on to duplicates, so that the last word of a connection is known after gRPC has closed it. False: there is
  // none (a warning says so once), or it is known already.
  bool look(const std::string& address, MemberId member);
  std::map<MemberId, Count> counts();
  // What was handed to gRPC, with what crossed the sockets in its place where that is more: the rest is still on its way.
  std::vector<TrafficCount> over(const std::vector<TrafficCount>& handed);

 private:
  struct Held {
    MemberId member = 0;
    Socket socket;
  };
  bool hold(int fd, const std::string& address, MemberId member);
  void retire_ended();

  std::mutex mutex_;
  std::map<ino_t, Held> held_;
  std::map<MemberId, Count> ended_;
  bool warned_ = false;
};

}  // namespace xdc
