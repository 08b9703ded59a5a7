#include "tests/worlds/exec/peer_process.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "exec/grpc/grpc_store.hpp"
#include "tests/worlds/exec/members.hpp"

namespace xdc {

PeerProcess::PeerProcess(const std::string& store_address, const std::string& act) : pid_(::fork()) {
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::setenv("XDC_TEST_PEER_STORE", store_address.c_str(), 1);
    ::setenv("XDC_TEST_PEER_ACT", act.c_str(), 1);
    ::execl("/proc/self/exe", "peer", "[.peer]", nullptr);
    ::_exit(127);
  }
}

PeerProcess::~PeerProcess() {
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void PeerProcess::send(int signal) const { ::kill(pid_, signal); }

// Not a test: what the other process runs.
TEST_CASE("the peer of another process", "[.peer]") {
  const char* address = std::getenv("XDC_TEST_PEER_STORE");
  if (address == nullptr) {
    return;
  }
  SteadyClock clock;
  GrpcStore store(address, clock);
  const auto fabric = start_fabric(1, clock, store);
  const auto channel = fabric->connect({1, {0, 1}}, "peer", clock.now() + seconds(30));
  REQUIRE(channel.ok());
  if (std::string(std::getenv("XDC_TEST_PEER_ACT")) == "send") {
    const auto work = channel.value()->isend(0, {{77, 0, 0, 0}}, {}, {0, Traffic::control});
    REQUIRE(wait_one(*channel.value(), work, clock.now() + seconds(30)).ok());
  }
  clock.sleep_until(clock.now() + seconds(120));
}

}  // namespace xdc
