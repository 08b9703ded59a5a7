// Is a round all or nothing? State sets, rollback, and the vote.
#include <catch2/catch.hpp>
#include <cstring>

#include "core/strategies/round.hpp"
#include "tests/contract/world.hpp"

namespace xdc::contract {
namespace {

void write(Env& env, Stream stream, Tensor to, float value) {
  const auto staging = env.device.allocate(Space::pinned, to.bytes.size).value();
  for (int64_t i = 0; i < to.elements(); ++i) {
    std::memcpy(staging->bytes().host().data() + i * 4, &value, 4);
  }
  env.device.copy(stream, to.bytes, staging->bytes());
  XDC_EXPECT_OK(env.device.wait(env.device.record(stream), kNoDeadline));
}

float first(Env& env, Stream stream, Tensor from) { return env.device.read_scalar(stream, from.range(0, 1)).value_or(-1); }

}  // namespace

TEST_CASE("state sets take turns, and a rollback returns to the state before the round") {
  hold(setting_of({1}), [](Env& env, MemberId) {
    for (const int sets : {2, 3}) {
      auto made = ModelState::make(env.device, 300, 2, sets);
      XDC_EXPECT_OK(made);
      auto& state = made.value();
      const Stream stream = env.device.make_stream("state");
      write(env, stream, state.applied().parameters, 0);
      for (int round = 1; round <= 5; ++round) {
        write(env, stream, state.next().parameters, static_cast<float>(round));
        write(env, stream, state.next().optimizer[1], static_cast<float>(-round));
        state.advance();
        XDC_EXPECT(state.round() == round);
        XDC_EXPECT(first(env, stream, state.applied().parameters) == static_cast<float>(round));
        if (round == 3) {
          // A round in flight must not touch the state to return to.
          if (sets == 3) {
            write(env, stream, state.next().parameters, 99);
          }
          state.roll_back();
          XDC_EXPECT(state.round() == 2);
          XDC_EXPECT(!state.can_roll_back());
          XDC_EXPECT(first(env, stream, state.applied().parameters) == 2);
          XDC_EXPECT(first(env, stream, state.applied().optimizer[1]) == -2);
          write(env, stream, state.next().parameters, 3);
          write(env, stream, state.next().optimizer[1], -3);
          state.advance();
        }
      }
      state.confirm();
      XDC_EXPECT(!state.can_roll_back());
    }
  });
}

TEST_CASE("a rollback takes the residuals along, and the next round starts from those of the round before") {
  hold(setting_of({1}), [](Env& env, MemberId) {
    ResidualPlan plan;
    plan.add(Tier::wan, Encoded::contribution, {512, 300});
    plan.add(Tier::lan, Encoded::finished, {0, 512});
    for (const int sets : {2, 3}) {
      auto made = ModelState::make(env.device, 812, 0, sets, &plan);
      XDC_EXPECT_OK(made);
      auto& state = made.value();
      const Stream stream = env.device.make_stream("state");
      const auto of = [](const ModelState::Set& set) { return set.residuals.of(Tier::wan, Encoded::contribution, {768, 44}); };
      XDC_EXPECT(first(env, stream, of(state.applied())) == 0);
      for (int round = 1; round <= 3; ++round) {
        write(env, stream, of(state.next()), static_cast<float>(round));
        state.advance();
      }
      XDC_EXPECT(first(env, stream, of(state.applied())) == 3);
      if (sets == 3) {
        write(env, stream, of(state.next()), 99);
      }
      state.roll_back();
      XDC_EXPECT(first(env, stream, of(state.applied())) == 2);
      XDC_EXPECT(first(env, stream, state.applied().residuals.of(Tier::lan, Encoded::finished, {0, 512})) == 0);
    }
  });
}

TEST_CASE("a vote finds the lowest applied round, on every member") {
  const auto setting = setting_of({2, 1});
  hold(setting, [&](Env& env, MemberId self) {
    CommitVote vote(setting.cluster, env);
    const Deadline deadline = env.clock.now() + seconds(60);
    XDC_EXPECT_OK(vote.connect(setting.cluster.everyone(1), deadline));
    const auto all = vote.lowest_applied(7, deadline);
    XDC_EXPECT(all.ok() && all.value() == 7);
    // Member 1 has not seen round 8.
    const auto mixed = vote.lowest_applied(self == 1 ? 7 : 8, deadline);
    XDC_EXPECT(mixed.ok() && mixed.value() == 7);
  });
}

TEST_CASE("a vote without one member fails by its deadline, naming who is missing") {
  const auto setting = setting_of({1, 2});
  hold(setting, [&](Env& env, MemberId self) {
    CommitVote vote(setting.cluster, env);
    XDC_EXPECT_OK(vote.connect(setting.cluster.everyone(1), env.clock.now() + seconds(60)));
    // The same moment for both: who gives up first is lost to the other.
    const Deadline deadline = TimePoint{} + seconds(1);
    if (self == 2) {
      env.clock.sleep_until(deadline + milliseconds(500));
      return;
    }
    const auto result = vote.lowest_applied(3, deadline);
    XDC_EXPECT(!result.ok() && result.error().code == ErrorCode::timeout);
    if (self == 0 && !result.ok()) {
      XDC_EXPECT(result.error().message.find("dc1 rank 2") != std::string::npos);
    }
  });
}

}  // namespace xdc::contract
