// Does it matter for time whether a payload is real? The same program with both, compared to the nanosecond.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cstring>

#include "core/base/rng.hpp"
#include "tests/contract/world.hpp"

namespace xdc::contract {
namespace {

// A member's seeded life of computing, sending and receiving; every time it sees goes into the transcript.
void live(Env& env, const View& view, MemberId me) {
  const int n = view.size();
  auto communicator = env.fabric.connect(view, "life", kNoDeadline).value();
  const auto stream = env.device.make_stream("life");
  std::string transcript = fmt::format("{}:", me);
  for (uint32_t round = 0; round < 30; ++round) {
    RandomStream draws(7, "life", round);  // the same on every member: who sends what to whom
    std::vector<std::unique_ptr<Buffer>> buffers;
    std::vector<ControlWords> control(static_cast<size_t>(n * 3));
    std::vector<WorkPtr> works;
    env.device.charge(stream, {static_cast<double>(draws.below(1'000'000'000)) * (me + 1), 0});
    for (int i = 0; i < n * 3; ++i) {
      const auto from = static_cast<Rank>(draws.below(static_cast<uint64_t>(n)));
      const auto to = static_cast<Rank>(draws.below(static_cast<uint64_t>(n)));
      const auto size = draws.below(4) == 0 ? size_t{0} : draws.below(300'000);
      if (from == to || (from != me && to != me)) continue;
      buffers.push_back(env.device.allocate(Space::device, size).value());
      const auto bytes = size == 0 ? Bytes{} : buffers.back()->bytes();
      if (from == me) {
        env.device.clear(stream, bytes);
        XDC_EXPECT_OK(env.device.wait(env.device.record(stream), kNoDeadline));
        works.push_back(communicator->isend(to, {}, bytes, {static_cast<int64_t>(size) * 3, Traffic::payload}));
      } else {
        works.push_back(communicator->irecv(from, &control[static_cast<size_t>(i)], bytes));
      }
    }
    const auto loss = env.device.allocate(Space::device, 4).value();
    (void)env.device.read_scalar(stream, Tensor::flat(loss->bytes(), DType::f32, 1));
    std::vector<Work*> left;
    for (const auto& work : works) left.push_back(work.get());
    while (!left.empty()) {
      const auto finished = communicator->wait_any(left, kNoDeadline);
      XDC_REQUIRE(finished.ok());
      left.erase(left.begin() + static_cast<std::ptrdiff_t>(finished.value()));
      transcript += fmt::format(" {}@{}", finished.value(), env.clock.now().ns);
    }
  }
  note(transcript);
}

std::vector<std::string> transcripts(PayloadKind payload, NetworkModel network) {
  auto setting = setting_of({2, 3, 1});
  setting.topology.network = network;
  setting.payload = payload;
  auto lines = world().run(setting, [view = setting.cluster.everyone(1)](Env& env, MemberId me) { live(env, view, me); });
  std::sort(lines.begin(), lines.end());
  return lines;
}

}  // namespace

TEST_CASE("phantom and real payloads take identical virtual time, and so does a second run") {
  std::vector<std::string> before;
  for (const auto network : {NetworkModel::plain, NetworkModel::tcp}) {
    const auto real = transcripts(PayloadKind::real, network);
    REQUIRE(real.size() == 6);
    for (const auto& line : real) REQUIRE(line.size() > 500);
    CHECK(transcripts(PayloadKind::phantom, network) == real);
    CHECK(transcripts(PayloadKind::real, network) == real);
    CHECK(real != before);  // the model of the network matters
    before = real;
  }
}

}  // namespace xdc::contract
