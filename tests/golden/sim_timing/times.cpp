// When exactly does a simulated message arrive where the network is plain? Every time here is worked out by hand, to the
// nanosecond, control words included: a message of n bytes needs (n + 32) / rate seconds and then the route's latency.
#include <catch2/catch.hpp>

#include "tests/golden/sim_timing/shots.hpp"

namespace xdc::contract {

TEST_CASE("100 MB at 1 Gbps and 15 ms take 0.815 s and the time of their control words") {
  const auto setting = setting_of({1, 1});
  hold(setting, [view = setting.cluster.everyone(1)](Env& env, MemberId me) {
    const auto communicator = connect(env, view);
    if (me == 0) {
      EXPECT_AT(finish_time(env, *communicator, send(*communicator, 1, 100'000'000)), 800'000'256);
    } else {
      EXPECT_AT(arrival(env, *communicator, 0), 815'000'256);
    }
  });
}

TEST_CASE("messages of one stream follow each other without a gap and pay the latency once each") {
  const auto setting = setting_of({1, 1});
  hold(setting, [view = setting.cluster.everyone(1)](Env& env, MemberId me) {
    const auto communicator = connect(env, view);
    const int64_t sizes[] = {100'000'000, 1'000, 50'000'000, 10};
    // Whole: (100000032, 1032, 50000032, 42) bytes at 125 bytes a microsecond, one after another.
    const int64_t left[] = {800'000'256, 800'008'512, 1'200'008'768, 1'200'009'104};
    std::vector<WorkPtr> works;
    for (const auto size : sizes) {
      if (me == 0) works.push_back(send(*communicator, 1, size));
    }
    for (size_t i = 0; i < 4; ++i) {
      EXPECT_AT(me == 0 ? finish_time(env, *communicator, works[i]) : arrival(env, *communicator, 0), left[i] + (me == 0 ? 0 : 15'000'000));
    }
  });
}

TEST_CASE("two messages on one line share it evenly, and the longer one has it alone in the end") {
  // Members 0, 1 in one datacenter, 2, 3 in the other.
  shoot(setting_of({2, 2}), {{0, 2, 99'999'968, 1'615'000'000}, {1, 3, 99'999'968, 1'615'000'000}});
  shoot(setting_of({2, 2}), {{0, 2, 49'999'968, 815'000'000}, {1, 3, 99'999'968, 1'215'000'000}});
}

TEST_CASE("streams of different round-trip times share a port evenly") {
  auto setting = setting_of({1, 1, 1});
  setting.topology.datacenters[0].lan.bandwidth = kGigabit;  // the bottleneck is the sender's own port
  setting.topology.links[1].line.latency = milliseconds(25);
  shoot(setting, {{0, 1, 99'999'968, 1'615'000'000}, {0, 2, 99'999'968, 1'625'000'000}});
}

TEST_CASE("opposite directions do not slow each other down") {
  shoot(setting_of({1, 1}), {{0, 1, 99'999'968, 815'000'000}, {1, 0, 99'999'968, 815'000'000}});
}

TEST_CASE("an uplink is shared by all that leaves a datacenter and adds its latency") {
  auto setting = setting_of({2, 1, 1});
  setting.topology.datacenters[0].uplink = LineSpec{kGigabit, milliseconds(1)};
  shoot(setting, {{0, 2, 99'999'968, 1'616'000'000}, {1, 3, 99'999'968, 1'616'000'000}});
  // Entering is another direction.
  shoot(setting, {{0, 2, 99'999'968, 816'000'000}, {3, 1, 99'999'968, 816'000'000}});
}

TEST_CASE("a route over a third datacenter has the sum of the latencies and the least of the rates") {
  auto setting = setting_of({1, 1, 1});
  auto& links = setting.topology.links;  // 0-1, 0-2, 1-2
  links.erase(links.begin() + 1);
  links[0].line = {kGigabit, milliseconds(10)};
  links[1].line = {2 * kGigabit, milliseconds(7)};
  shoot(setting, {{0, 2, 99'999'968, 817'000'000}});
  // Transit contends with what the third datacenter sends itself.
  shoot(setting, {{0, 2, 99'999'968, 817'000'000}, {1, 2, 199'999'968, 1'207'000'000}});
  shoot(setting, {{0, 2, 99'999'968, 1'617'000'000}, {0, 1, 99'999'968, 1'610'000'000}});
}

TEST_CASE("devices of one node use their own ports and nodes share theirs") {
  Setting setting;
  DatacenterSpec spec;
  spec.name = "dc";
  spec.nodes = 2;
  spec.devices_per_node = 2;
  spec.lan = {kGigabit, {50'000}};
  spec.intra_node = {10 * kGigabit, {2'000}};
  setting.topology.datacenters = {spec};
  setting.cluster = make_cluster(setting.topology);
  // 0, 1 on one node, 2, 3 on the other.
  shoot(setting, {{0, 1, 124'999'968, 100'002'000}, {2, 3, 124'999'968, 100'002'000}});
  shoot(setting, {{0, 2, 124'999'968, 2'000'050'000}, {1, 3, 124'999'968, 2'000'050'000}, {1, 0, 124'999'968, 100'002'000}});
}

TEST_CASE("a server shares the port of its node and is near its node's devices") {
  Setting setting;
  DatacenterSpec spec;
  spec.name = "dc";
  spec.nodes = 2;
  spec.lan = {kGigabit, {50'000}};
  spec.intra_node = {10 * kGigabit, {2'000}};
  setting.topology.datacenters = {spec};
  setting.cluster = make_cluster(setting.topology);
  add_servers(setting.cluster, setting.topology, 0, 1);  // member 2, on node 0
  shoot(setting, {{1, 0, 124'999'968, 2'000'050'000}, {1, 2, 124'999'968, 2'000'050'000}});
  shoot(setting, {{0, 2, 124'999'968, 100'002'000}, {2, 0, 124'999'968, 100'002'000}});
}

TEST_CASE("what arrives at the very deadline has arrived, and a nanosecond earlier it has not") {
  const auto setting = setting_of({1, 1});
  hold(setting, [view = setting.cluster.everyone(1)](Env& env, MemberId me) {
    const auto communicator = connect(env, view);
    if (me == 0) {
      finish_time(env, *communicator, send(*communicator, 1, 99'999'968));
      return;
    }
    ControlWords control;
    const auto work = communicator->irecv(0, &control, {});
    Work* const works[] = {work.get()};
    XDC_EXPECT_ERROR(ErrorCode::timeout, communicator->wait_any(works, TimePoint{814'999'999}));
    EXPECT_AT(env.clock.now(), 814'999'999);
    XDC_EXPECT_OK(communicator->wait_any(works, TimePoint{815'000'000}));
    EXPECT_AT(env.clock.now(), 815'000'000);
  });
}

TEST_CASE("of two messages that arrive together the lower index is finished first") {
  const auto setting = setting_of({1, 1, 1});
  hold(setting, [view = setting.cluster.everyone(1)](Env& env, MemberId me) {
    const auto communicator = connect(env, view);
    if (me != 0) {
      finish_time(env, *communicator, send(*communicator, 0, 12'468));
      return;
    }
    ControlWords control[2];
    const auto from2 = communicator->irecv(2, &control[0], {});
    const auto from1 = communicator->irecv(1, &control[1], {});
    Work* const works[] = {from2.get(), from1.get()};
    const auto finished = communicator->wait_any(works, kNoDeadline);
    EXPECT_AT(env.clock.now(), 15'100'000);
    XDC_EXPECT(finished.ok() && finished.value() == 0);
    XDC_EXPECT_OK(communicator->wait_any(std::span(works).subspan(1), env.clock.now()));  // arrived as well
  });
}

TEST_CASE("a signal that is posted at the very deadline wins, through a chain of lanes too") {
  hold(setting_of({1}), [](Env& env, MemberId) {
    const TimePoint deadline{1'000'000};
    const auto end = env.lanes.make_signal();
    const auto middle = env.lanes.make_signal();
    const auto last = env.lanes.spawn("last", [&] {
      XDC_EXPECT_OK(middle->wait(deadline));
      end->post();
    });
    const auto first = env.lanes.spawn("first", [&] {
      env.clock.sleep_until(deadline);
      middle->post();
    });
    XDC_EXPECT_OK(end->wait(deadline));
    EXPECT_AT(env.clock.now(), deadline.ns);
    XDC_EXPECT_ERROR(ErrorCode::timeout, end->wait(deadline));
    EXPECT_AT(env.clock.now(), deadline.ns);
    last->join();
    first->join();
  });
}

TEST_CASE("news of an abort travel as long as a message, behind what was sent before") {
  const auto setting = setting_of({1, 1});
  hold(setting, [view = setting.cluster.everyone(1)](Env& env, MemberId me) {
    const auto communicator = connect(env, view);
    if (me == 0) {
      const auto work = send(*communicator, 1, 12'468);
      finish_time(env, *communicator, work);
      EXPECT_AT(env.clock.now(), 100'000);
      communicator->abort({ErrorCode::aborted, "gives up"});
      return;
    }
    ControlWords control;
    const auto first = communicator->irecv(0, &control, {});
    const auto second = communicator->irecv(0, &control, {});
    EXPECT_AT(finish_time(env, *communicator, first), 15'100'000);
    Work* const works[] = {second.get()};
    XDC_EXPECT_ERROR(ErrorCode::peer_lost, communicator->wait_any(works, kNoDeadline));
    EXPECT_AT(env.clock.now(), 15'100'000);
  });
}

TEST_CASE("a transfer that its sender aborts leaves the line to others at once") {
  const auto setting = setting_of({2, 2});
  hold(setting, [view = setting.cluster.everyone(1)](Env& env, MemberId me) {
    const auto communicator = connect(env, view);
    if (me == 0) {
      const auto work = send(*communicator, 2, 1'000'000'000);
      env.clock.sleep_until(TimePoint{400'000'000});
      communicator->abort({ErrorCode::aborted, "gives up"});
    } else if (me == 1) {
      finish_time(env, *communicator, send(*communicator, 3, 99'999'968));
    } else if (me == 2) {
      env.clock.sleep_until(TimePoint{1'000'000'000});  // keeps its communicator
    } else {
      EXPECT_AT(arrival(env, *communicator, 1), 1'015'000'000);  // 0.4 s at half the rate, the rest alone
    }
  });
}

TEST_CASE("compute passes on its stream and overlaps with messages and other streams") {
  const auto setting = setting_of({1, 1});
  hold(setting, [view = setting.cluster.everyone(1)](Env& env, MemberId me) {
    const auto communicator = connect(env, view);
    if (me == 1) {
      EXPECT_AT(arrival(env, *communicator, 0), 815'000'000);
      return;
    }
    // 1e11 flops/s and 1e10 bytes/s.
    const auto one = env.device.make_stream("one");
    const auto two = env.device.make_stream("two");
    const auto work = send(*communicator, 1, 99'999'968);
    env.device.charge(one, {5e10, 1e9});  // 0.5 s of flops against 0.1 s of bytes
    env.device.charge(one, {1e10, 2e9});  // 0.1 s against 0.2 s
    const auto done = env.device.record(one);
    env.device.charge(two, {1e10, 0});
    env.device.stream_wait(two, done);
    env.device.charge(two, {1e10, 0});
    EXPECT_AT(env.clock.now(), 0);
    XDC_EXPECT_ERROR(ErrorCode::timeout, env.device.wait(done, TimePoint{699'999'999}));
    EXPECT_AT(env.clock.now(), 699'999'999);
    XDC_EXPECT_OK(env.device.wait(done, TimePoint{700'000'000}));
    EXPECT_AT(env.clock.now(), 700'000'000);
    XDC_EXPECT_OK(env.device.wait(env.device.record(two), kNoDeadline));
    EXPECT_AT(env.clock.now(), 800'000'000);
    EXPECT_AT(finish_time(env, *communicator, work), 800'000'000);
  });
}

}  // namespace xdc::contract
