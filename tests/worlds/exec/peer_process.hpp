// A member in a process of its own, so that it can be stopped and killed.
#pragma once

#include <sys/types.h>

#include <string>

namespace xdc {

// Runs this test program again as member 1 of view 1, which opens the channel "peer", sends what `act` says and then waits for
// ever. Killed by the destructor.
class PeerProcess {
 public:
  // `act`: "" or "send" (one empty message to member 0).
  PeerProcess(const std::string& store_address, const std::string& act);
  ~PeerProcess();
  PeerProcess(const PeerProcess&) = delete;
  PeerProcess& operator=(const PeerProcess&) = delete;
  void send(int signal) const;

 private:
  pid_t pid_ = -1;
};

}  // namespace xdc
