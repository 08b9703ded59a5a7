// What does a member see of a peer whose process is killed or stopped?
#include <signal.h>

#include <catch2/catch.hpp>

#include "exec/grpc/store_server.hpp"
#include "tests/worlds/exec/members.hpp"
#include "tests/worlds/exec/peer_process.hpp"

namespace xdc {

namespace {

struct WithPeer {
  explicit WithPeer(const std::string& act = "") : peer(server->address(), act) {
    auto opened = fabric->connect({1, {0, 1}}, "peer", clock.now() + seconds(60));
    REQUIRE(opened.ok());
    channel = std::move(opened).value();
  }

  SteadyClock clock;
  MemoryStore facts{clock};
  std::unique_ptr<StoreServer> server = std::move(StoreServer::start(facts, clock)).value();
  std::unique_ptr<GrpcFabric> fabric = start_fabric(0, clock, facts);
  PeerProcess peer;
  std::unique_ptr<Communicator> channel;
};

}  // namespace

TEST_CASE("a killed peer is noticed at once by a receive that nothing was sent for", "[exec]") {
  WithPeer with;
  const auto work = with.channel->irecv(1, nullptr, {});
  std::thread killer([&] {
    with.clock.sleep_until(with.clock.now() + milliseconds(100));
    with.peer.send(SIGKILL);
  });
  const auto result = wait_one(*with.channel, work, with.clock.now() + seconds(30));
  REQUIRE(result.error().code == ErrorCode::peer_lost);
  REQUIRE(result.error().message.find("member 1") != std::string::npos);
  REQUIRE(with.clock.now() < TimePoint{} + seconds(20));
  killer.join();
}

TEST_CASE("a killed peer is noticed by a send in the middle of a message", "[exec]") {
  WithPeer with;
  std::vector<std::byte> memory(256 << 20);
  const auto work = with.channel->isend(1, {}, bytes_of(memory), wire_of(memory));
  REQUIRE(wait_one(*with.channel, work, with.clock.now() + milliseconds(100)).error().code == ErrorCode::timeout);
  with.peer.send(SIGKILL);
  REQUIRE(wait_one(*with.channel, work, with.clock.now() + seconds(20)).error().code == ErrorCode::peer_lost);
}

TEST_CASE("what a peer sent before it was killed is received", "[exec]") {
  WithPeer with("send");
  with.clock.sleep_until(with.clock.now() + milliseconds(300));
  with.peer.send(SIGKILL);
  with.clock.sleep_until(with.clock.now() + milliseconds(100));
  ControlWords control;
  const auto first = with.channel->irecv(1, &control, {});
  REQUIRE(wait_one(*with.channel, first, with.clock.now() + seconds(10)).ok());
  REQUIRE(control.word[0] == 77);
  const auto second = with.channel->irecv(1, &control, {});
  REQUIRE(wait_one(*with.channel, second, with.clock.now() + seconds(10)).error().code == ErrorCode::peer_lost);
}

TEST_CASE("a stopped peer is a timeout, and giving up on it gives the memory back at once", "[exec]") {
  WithPeer with;
  with.peer.send(SIGSTOP);
  auto memory = std::make_unique<std::vector<std::byte>>(256 << 20);
  auto work = with.channel->isend(1, {}, bytes_of(*memory), wire_of(*memory));
  REQUIRE(wait_one(*with.channel, work, with.clock.now() + milliseconds(500)).error().code == ErrorCode::timeout);
  const TimePoint start = with.clock.now();
  with.channel->abort({ErrorCode::aborted, "enough"});
  work.reset();
  memory.reset();
  with.channel.reset();
  REQUIRE(with.clock.now() < start + seconds(10));
  with.fabric.reset();
  REQUIRE(with.clock.now() < start + seconds(30));
}

}  // namespace xdc
