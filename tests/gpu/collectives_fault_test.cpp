// What do the members see when NCCL waits in vain, breaks, or is told to stop? On the tests' own CUDA and NCCL.
#include <catch2/catch.hpp>
#include <string>
#include <thread>
#include <vector>

#include "tests/gpu/fake_cuda.hpp"
#include "tests/gpu/ranks.hpp"

namespace xdc::gpu_test {
namespace {

Result<std::unique_ptr<Buffer>> floats(RankEnv& env) { return env.device.allocate(Space::device, 40); }
Tensor tensor(const Buffer& buffer) { return Tensor::flat(buffer.bytes(), DType::f32, 10); }

}  // namespace

TEST_CASE("connecting ends with timeout at its deadline and names who has not come") {
  fake::reset();
  const auto wrong = run_ranks(4, 2, [](RankEnv& env) -> std::string {
    const auto made = env.connect("gradients", milliseconds(50));
    XDC_RANK_CHECK(!made.ok());
    XDC_RANK_CHECK(made.error().code == ErrorCode::timeout);
    XDC_RANK_CHECK(made.error().message.find("not there: beijing rank 2, beijing rank 3") != std::string::npos);
    XDC_RANK_CHECK(made.error().message.find(describe(env.self) + ": NCCL 'gradients' (view 1, 4 ranks)") == 0);
    return {};
  });
  CHECK(wrong == std::vector<std::string>(2));
  CHECK(fake::communicators_alive() == 0);
}

TEST_CASE("members that wait for the first one's communicator id end with timeout and name it") {
  fake::reset();
  SteadyClock clock;
  MemoryStore store(clock);
  MemoryDevice device(1, describe(1), clock);
  const auto made = NcclCollectives::connect(device, store, {1, {0, 1}}, "gradients", 1, describe, clock.now() + milliseconds(30));
  REQUIRE_FALSE(made.ok());
  CHECK(made.error().code == ErrorCode::timeout);
  CHECK(made.error().message.find("beijing rank 1: waiting for the communicator id of beijing rank 0") == 0);
}

TEST_CASE("a collective that a peer does not join ends with timeout and is broken for good, and the peer learns of it") {
  fake::reset();
  const auto wrong = run_ranks(2, 2, [](RankEnv& env) -> std::string {
    auto made = env.connect("gradients");
    XDC_RANK_OK(made);
    const auto buffer = floats(env);
    XDC_RANK_OK(buffer);
    auto& collectives = *made.value();
    if (env.self == 1) {
      // Late on purpose: only after the other has given up.
      XDC_RANK_OK(env.store.watch("given up", 0, env.soon()));
      const Status told = collectives.all_reduce(tensor(*buffer.value()), 40, env.soon());
      XDC_RANK_CHECK(!told.ok() && told.error().code == ErrorCode::peer_lost);
      XDC_RANK_CHECK(told.error().message.find("all_reduce of 40 B") != std::string::npos);
      return {};
    }
    const TimePoint begun = env.clock.now();
    const Status first = collectives.all_reduce(tensor(*buffer.value()), 40, begun + milliseconds(40));
    XDC_RANK_CHECK(!first.ok() && first.error().code == ErrorCode::timeout);
    XDC_RANK_CHECK(env.clock.now() - begun >= milliseconds(40));
    const Status later = collectives.broadcast(tensor(*buffer.value()), 0, 40, env.soon());
    XDC_RANK_CHECK(!later.ok() && later.error().message == first.error().message);
    XDC_RANK_OK(env.store.put_if("given up", "yes", 0, nullptr, env.soon()));
    return {};
  });
  CHECK(wrong == std::vector<std::string>(2));
}

TEST_CASE("abort from another lane wakes the owner with its error, and the first error stays") {
  fake::reset();
  const auto wrong = run_ranks(2, 2, [](RankEnv& env) -> std::string {
    auto made = env.connect("gradients");
    XDC_RANK_OK(made);
    const auto buffer = floats(env);
    XDC_RANK_OK(buffer);
    auto& collectives = *made.value();
    if (env.self == 1) {  // never joins, and sees the peer go
      XDC_RANK_OK(env.store.watch("woken", 0, env.soon()));
      return {};
    }
    std::thread other([&] {
      env.clock.sleep_until(env.clock.now() + milliseconds(20));
      collectives.abort({ErrorCode::view_changed, "the view is 2 now"});
      collectives.abort({ErrorCode::failed, "too late"});
    });
    const Status woken = collectives.all_reduce(tensor(*buffer.value()), 40, env.soon());
    const TimePoint at = env.clock.now();
    other.join();
    XDC_RANK_CHECK(!woken.ok() && woken.error().code == ErrorCode::view_changed);
    XDC_RANK_CHECK(woken.error().message.find("the view is 2 now") != std::string::npos);
    XDC_RANK_CHECK(at < env.clock.now() + seconds(5));
    const Status later = collectives.all_reduce(tensor(*buffer.value()), 40, env.soon());
    XDC_RANK_CHECK(!later.ok() && later.error().code == ErrorCode::view_changed);
    XDC_RANK_OK(env.store.put_if("woken", "yes", 0, nullptr, env.soon()));
    return {};
  });
  CHECK(wrong == std::vector<std::string>(2));
}

TEST_CASE("abort before any call breaks the communicator as well") {
  fake::reset();
  const auto wrong = run_ranks(1, 1, [](RankEnv& env) -> std::string {
    auto made = env.connect("gradients");
    XDC_RANK_OK(made);
    made.value()->abort({ErrorCode::aborted, "stopping"});
    const auto buffer = floats(env);
    XDC_RANK_OK(buffer);
    const Status refused = made.value()->all_reduce(tensor(*buffer.value()), 40, env.soon());
    XDC_RANK_CHECK(!refused.ok() && refused.error().code == ErrorCode::aborted);
    return {};
  });
  CHECK(wrong == std::vector<std::string>(1));
}

TEST_CASE("an asynchronous error of NCCL ends the call at once, a lost peer as peer_lost and all else as failed") {
  for (const auto& [error, code] : {std::pair{ncclRemoteError, ErrorCode::peer_lost}, std::pair{ncclInternalError, ErrorCode::failed}}) {
    fake::reset();
    const auto wrong = run_ranks(1, 1, [error = error, code = code](RankEnv& env) -> std::string {
      auto made = env.connect("gradients");
      XDC_RANK_OK(made);
      fake::break_communicator(0, error);
      const auto buffer = floats(env);
      XDC_RANK_OK(buffer);
      const Status ended = made.value()->all_reduce(tensor(*buffer.value()), 40, kNoDeadline);
      XDC_RANK_CHECK(!ended.ok() && ended.error().code == code);
      return {};
    });
    CHECK(wrong == std::vector<std::string>(1));
    CHECK(fake::communicators_alive() == 0);
  }
}

TEST_CASE("an operation that NCCL refuses breaks the communicator") {
  fake::reset();
  const auto wrong = run_ranks(1, 1, [](RankEnv& env) -> std::string {
    auto made = env.connect("gradients");
    XDC_RANK_OK(made);
    const auto buffer = floats(env);
    XDC_RANK_OK(buffer);
    fake::refuse_next_operation(ncclInvalidArgument);
    const std::vector<Part> parts = {{0, 4, 0, 16}, {4, 6, 0, 24}};
    const Status refused = made.value()->reduce_scatter(tensor(*buffer.value()), parts, env.soon());
    XDC_RANK_CHECK(!refused.ok() && refused.error().code == ErrorCode::failed);
    XDC_RANK_CHECK(!made.value()->all_reduce(tensor(*buffer.value()), 40, env.soon()).ok());
    return {};
  });
  CHECK(wrong == std::vector<std::string>(1));
}

TEST_CASE("a GPU that breaks during a collective ends it as failed") {
  fake::reset();
  const auto wrong = run_ranks(1, 1, [](RankEnv& env) -> std::string {
    auto made = env.connect("gradients");
    XDC_RANK_OK(made);
    const auto buffer = floats(env);
    XDC_RANK_OK(buffer);
    fake::break_device(cudaErrorIllegalAddress);
    const Status ended = made.value()->all_reduce(tensor(*buffer.value()), 40, kNoDeadline);
    XDC_RANK_CHECK(!ended.ok() && ended.error().code == ErrorCode::failed);
    XDC_RANK_CHECK(ended.error().message.find("illegal memory access") != std::string::npos);
    return {};
  });
  CHECK(wrong == std::vector<std::string>(1));
}

TEST_CASE("parts without elements are not enqueued, and all others are one group") {
  fake::reset();
  const auto wrong = run_ranks(1, 1, [](RankEnv& env) -> std::string {
    auto made = env.connect("gradients");
    XDC_RANK_OK(made);
    const auto buffer = floats(env);
    XDC_RANK_OK(buffer);
    const std::vector<Part> parts = {{0, 4, 0, 16}, {4, 0, 0, 0}, {4, 6, 0, 24}};
    XDC_RANK_OK(made.value()->all_gather(tensor(*buffer.value()), parts, env.soon()));
    return {};
  });
  CHECK(wrong == std::vector<std::string>(1));
  CHECK(fake::last_group_size() == 2);
}

TEST_CASE("a view and purpose used twice is refused") {
  fake::reset();
  const auto wrong = run_ranks(1, 1, [](RankEnv& env) -> std::string {
    XDC_RANK_OK(env.connect("gradients"));
    const auto again = env.connect("gradients");
    XDC_RANK_CHECK(!again.ok() && again.error().message.find("used before") != std::string::npos);
    return {};
  });
  CHECK(wrong == std::vector<std::string>(1));
}

TEST_CASE("datacenters open the same purpose in views of their own without meeting") {
  fake::reset();
  SteadyClock clock;
  MemoryStore store(clock);
  MemoryDevice device(0, describe(0), clock);
  for (const MemberId member : {0, 1, 2}) {
    CHECK(NcclCollectives::connect(device, store, {1, {member}}, "gradients", member, describe, clock.now() + seconds(5)).ok());
  }
}

TEST_CASE("a communicator id of another length is refused") {
  fake::reset();
  SteadyClock clock;
  MemoryStore store(clock);
  MemoryDevice device(1, describe(1), clock);
  for (const auto* id : {"00ff", "not hexadecimal", "abc"}) {
    REQUIRE(store.put_if("nccl/1/gradients/0/id", id, kAnyRevision, nullptr, kNoDeadline).ok());
    const auto made = NcclCollectives::connect(device, store, {1, {0, 1}}, "gradients", 1, describe, clock.now() + seconds(5));
    REQUIRE_FALSE(made.ok());
    CHECK(made.error().code == ErrorCode::failed);
  }
}

TEST_CASE("bytes survive being written as hexadecimal digits, and nothing else is read as such") {
  std::string bytes;
  for (int i = 0; i < 256; ++i) {
    bytes += static_cast<char>(i);
  }
  CHECK(from_hex(to_hex(bytes)).value() == bytes);
  CHECK(to_hex(std::string_view("\x00\xfe", 2)) == "00fe");
  CHECK(from_hex("").value().empty());
  CHECK_FALSE(from_hex("0").ok());
  CHECK_FALSE(from_hex("0G").ok());
  CHECK_FALSE(from_hex("AB").ok());
}

}  // namespace xdc::gpu_test
