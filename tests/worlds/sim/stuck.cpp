// Does a run that cannot go on say so, and who waits for what?
#include <catch2/catch.hpp>

#include "sim/agenda.hpp"
#include "tests/contract/world.hpp"

namespace xdc::contract {
namespace {

std::string only_problem(const Setting& setting, const Body& body) {
  const auto problems = world().run(setting, body);
  REQUIRE(problems.size() == 1);
  return problems[0];
}

bool names(const std::string& text, std::string_view part) {
  INFO(text);
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("lanes that wait for what never comes end the run with their names and what they wait for") {
  const auto setting = setting_of({1, 2});
  const auto problem = only_problem(setting, [view = setting.cluster.everyone(4)](Env& env, MemberId me) {
    env.clock.sleep_until(TimePoint{1'500'000'000});
    if (me == 2) {
      const auto communicator = env.fabric.connect(view, "ring", env.clock.now() + milliseconds(10));
      env.lanes.make_signal()->wait(kNoDeadline).ok();
      return;
    }
    auto communicator = env.fabric.connect(view, "ring", kNoDeadline).value();
    ControlWords control;
    const auto work = communicator->irecv(1 - me, &control, {});
    Work* const works[] = {work.get()};
    communicator->wait_any(works, kNoDeadline).ok();
  });
  CHECK(names(problem, "1.5 s"));
  CHECK(names(problem, "dc0 rank 0, lane main: waits for a message from dc1 rank 1 on \"ring\" of view 4"));
  CHECK(names(problem, "dc1 rank 1, lane main: waits for a message from dc0 rank 0"));
  CHECK(names(problem, "dc1 rank 2, lane main: waits for a signal"));
  CHECK(names(problem, "without a deadline"));
}

TEST_CASE("lanes that share a communicator and end together leave nothing behind") {
  const auto setting = setting_of({2});
  const auto problem = only_problem(setting, [view = setting.cluster.everyone(1)](Env& env, MemberId me) {
    auto communicator = env.fabric.connect(view, "shared", kNoDeadline).value();
    auto collectives = env.fabric.native_collectives(view, "shared", kNoDeadline).value();
    const auto counts = env.device.allocate(Space::pinned, 8).value();
    const auto messages = env.lanes.spawn("messages", [&] {
      ControlWords control;
      const auto never = communicator->irecv(1 - me, &control, {});
      const auto long_one = communicator->isend(1 - me, {}, {}, {int64_t{1} << 60, Traffic::payload});
      Work* const works[] = {never.get()};
      communicator->wait_any(works, kNoDeadline).ok();
    });
    const auto sums = env.lanes.spawn("sums", [&] {
      if (me == 0) collectives->all_reduce(Tensor::flat(counts->bytes(), DType::i64, 1), 8, kNoDeadline).ok();
    });
    messages->join();
    sums->join();
  });
  CHECK(names(problem, "dc0 rank 0, lane main: waits for the end of lane messages"));
  CHECK(names(problem, "dc0 rank 0, lane sums: waits for dc0 rank 1 to join all_reduce"));
}

TEST_CASE("a member that waits to connect is named with those who are missing") {
  const auto setting = setting_of({2});
  const auto problem = only_problem(setting, [view = setting.cluster.everyone(1)](Env& env, MemberId me) {
    if (me == 0) env.fabric.connect(view, "alone", kNoDeadline).ok();
  });
  CHECK(names(problem, "dc0 rank 0, lane main: waits for dc0 rank 1 to connect \"alone\""));
}

TEST_CASE("virtual time ends at its horizon with an error") {
  const auto problem = only_problem(setting_of({1}), [](Env& env, MemberId) {
    env.clock.sleep_until(TimePoint{kHorizon.ns - 1});
    XDC_EXPECT(env.clock.now().ns == kHorizon.ns - 1);
    env.clock.sleep_until(TimePoint{kHorizon.ns + 1});
    note("never here");
  });
  CHECK(names(problem, "horizon"));
}

TEST_CASE("a transfer that would end after the horizon does not carry time away") {
  auto setting = setting_of({1, 1});
  setting.topology.links[0].line.bandwidth = 1e-9;
  const auto problem = only_problem(setting, [view = setting.cluster.everyone(1)](Env& env, MemberId me) {
    auto communicator = env.fabric.connect(view, "slow", kNoDeadline).value();
    ControlWords control;
    const auto work = me == 0 ? communicator->isend(1, {}, {}, {1'000'000, Traffic::payload}) : communicator->irecv(0, &control, {});
    Work* const works[] = {work.get()};
    communicator->wait_any(works, kNoDeadline).ok();
  });
  CHECK(names(problem, "horizon"));
  CHECK(names(problem, "waits for a message to dc1 rank 1"));
}

TEST_CASE("a run without anything wrong reports nothing") {
  CHECK(world().run(setting_of({2, 2}), [](Env&, MemberId) {}).empty());
}

}  // namespace xdc::contract
