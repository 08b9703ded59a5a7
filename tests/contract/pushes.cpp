// Does a server that applies pushes one by one apply each of them once, in the order that it says, and do all end with what it then has?
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cstring>

#include "core/base/rng.hpp"
#include "core/strategies/registry.hpp"
#include "tests/contract/world.hpp"

namespace xdc::contract {
namespace {

using Vector = std::vector<float>;

Vector gradient_of(MemberId worker, int64_t number, int64_t n) {
  RandomStream stream(5, "push", static_cast<uint32_t>(worker + 100 * number));
  Vector values(static_cast<size_t>(n));
  for (auto& v : values) v = stream.uniform_float() * 2 - 1;
  return values;
}

struct Tensors {
  Env& env;
  std::vector<std::unique_ptr<Buffer>> buffers;
  Stream stream = env.device.make_stream("test");

  Tensor zero(int64_t n) {
    buffers.push_back(env.device.allocate(Space::device, static_cast<size_t>(n) * 4).value());
    const Tensor made = Tensor::flat(buffers.back()->bytes(), DType::f32, n);
    env.device.clear(stream, made.bytes);
    return made;
  }
  void fill(Tensor to, const Vector& values) {
    const auto staging = env.device.allocate(Space::pinned, to.bytes.size).value();
    std::memcpy(staging->bytes().host().data(), values.data(), to.bytes.size);
    env.device.copy(stream, to.bytes, staging->bytes());
    XDC_EXPECT_OK(env.device.wait(env.device.record(stream), kNoDeadline));
  }
  Vector contents(Tensor from) {
    const auto staging = env.device.allocate(Space::pinned, from.bytes.size).value();
    env.device.copy(stream, staging->bytes(), from.bytes);
    XDC_EXPECT_OK(env.device.wait(env.device.record(stream), kNoDeadline));
    Vector values(static_cast<size_t>(from.elements()));
    std::memcpy(values.data(), staging->bytes().host().data(), from.bytes.size);
    return values;
  }
};

// The first worker pushes often, the others less.
int64_t pushes_of(MemberId worker) { return worker == 0 ? 7 : 2 + worker % 3; }

void work(Env& env, const StrategyPlan& plan, MemberId self) {
  Tensors tensors{env, {}};
  const auto strategy = strategy_of(plan.spec).make_worker(plan, env, self);
  const Deadline deadline = env.clock.now() + seconds(60);
  XDC_REQUIRE(strategy->connect(plan.cluster.everyone(1), deadline).ok());
  const Tensor gradient = tensors.zero(plan.parameters), parameters = tensors.zero(plan.parameters);
  for (int64_t number = 1; number <= pushes_of(self); ++number) {
    tensors.fill(gradient, gradient_of(self, number, plan.parameters));
    const auto echoed = strategy->exchange({number, deadline, {self + 1, 0}, gradient, parameters, [](int) { return ok_status(); }});
    XDC_EXPECT_OK(echoed);
    XDC_REQUIRE(echoed.ok() && echoed.value() == (ControlSum{self + 1, 0}));
  }
  // Bits, to be compared with everyone's.
  uint64_t sum = 14695981039346656037U;
  for (const float value : tensors.contents(parameters)) {
    uint32_t bits = 0;
    std::memcpy(&bits, &value, 4);
    sum = (sum ^ bits) * 1099511628211U;
  }
  note(fmt::format("final {:x}", sum));
}

void serve(Env& env, const StrategyPlan& plan, MemberId self) {
  Tensors tensors{env, {}};
  OptimizerSpec sgd;
  sgd.learning_rate = 1;
  const Optimizer optimizer(sgd, 100);
  const auto server = strategy_of(plan.spec).make_push_server(plan, optimizer, env, self);
  const Deadline deadline = env.clock.now() + seconds(60);
  std::vector<int64_t> pushes;
  int64_t left = 0;
  for (MemberId w = 0; w < plan.cluster.workers(); ++w) {
    pushes.push_back(pushes_of(w));
    left += pushes.back();
  }
  XDC_REQUIRE(server->connect(plan.cluster.everyone(1), pushes, seconds(60), deadline).ok());
  const Range owned = server->owned();
  Tensor before = tensors.zero(owned.count), after = tensors.zero(owned.count);
  Vector expected(static_cast<size_t>(owned.count));
  std::vector<Push> ended;
  for (int64_t update = 1; left > 0; ++update, --left) {
    const auto push = server->take();
    XDC_EXPECT_OK(push);
    XDC_REQUIRE(push.ok());
    const auto& p = push.value();
    XDC_EXPECT(p.own == (ControlSum{p.worker + 1, 0}));
    XDC_EXPECT_OK(server->apply(p, {update, deadline, before, after, {}, {}}));
    std::swap(before, after);
    const auto gradient = gradient_of(p.worker, p.number, plan.parameters);
    for (int64_t i = 0; i < owned.count; ++i) {
      auto& value = expected[static_cast<size_t>(i)];
      value = value - gradient[static_cast<size_t>(owned.begin + i)];
    }
    if (p.number == pushes_of(p.worker)) {
      ended.push_back(p);
    } else {
      XDC_EXPECT_OK(server->answer(p, before, deadline));
    }
  }
  for (const Push& p : ended) XDC_EXPECT_OK(server->answer(p, before, deadline));
  XDC_EXPECT_OK(server->finish(deadline));
  const auto got = tensors.contents(before);
  XDC_EXPECT(std::memcmp(got.data(), expected.data(), got.size() * 4) == 0);
}

void check(std::vector<int> datacenters, ParameterServerSpec spec, int64_t parameters, int64_t bucket_bytes) {
  spec.mode = ServerMode::async;
  auto setting = setting_of(std::move(datacenters));
  const auto& kind = strategy_of(spec);
  StrategyPlan plan{spec, setting.cluster, plan_buckets(parameters, bucket_bytes), parameters, {}, 23};
  kind.add_members(spec, setting.topology, plan.cluster);
  setting.cluster = plan.cluster;
  REQUIRE(kind.resolve(plan, setting.topology).ok());
  const auto notes = world().run(setting, [&](Env& env, MemberId self) {
    if (plan.cluster.members[static_cast<size_t>(self)].role == Role::server) {
      serve(env, plan, self);
    } else {
      work(env, plan, self);
    }
  });
  int finals = 0;
  for (const auto& note : notes) {
    if (note.starts_with("final ")) {
      ++finals;
      CHECK(note == notes.front());
    } else {
      FAIL_CHECK(note);
    }
  }
  CHECK(finals == plan.cluster.workers());
}

}  // namespace

TEST_CASE("pushes are applied once each, in the order the server says, and all end with what it then has") {
  check({1}, {}, 1000, 1 << 20);
  check({2, 3}, {}, 3000, 1 << 20);
  check({2, 3}, {0, 2}, 3000, 4096);
  check({3, 1, 2}, {0, 1, true}, 5001, 2048);
}

TEST_CASE("a server whose workers do not push says whom it waited for") {
  ParameterServerSpec spec;
  spec.mode = ServerMode::async;
  auto setting = setting_of({2});
  const auto& kind = strategy_of(spec);
  StrategyPlan plan{spec, setting.cluster, plan_buckets(1000, 1 << 20), 1000, {}, 23};
  kind.add_members(spec, setting.topology, plan.cluster);
  setting.cluster = plan.cluster;
  hold(setting, [&](Env& env, MemberId self) {
    const Deadline deadline = env.clock.now() + seconds(60);
    const View everyone = plan.cluster.everyone(1);
    if (plan.cluster.members[static_cast<size_t>(self)].role == Role::worker) {
      const auto strategy = kind.make_worker(plan, env, self);
      XDC_EXPECT_OK(strategy->connect(everyone, deadline));
      XDC_EXPECT_OK(env.store.watch("the server has given up", 0, deadline));
      return;
    }
    const Optimizer optimizer({}, 1);
    const auto server = kind.make_push_server(plan, optimizer, env, self);
    XDC_EXPECT_OK(server->connect(everyone, {1, 1}, milliseconds(50), deadline));
    const auto push = server->take();
    XDC_EXPECT_ERROR(ErrorCode::timeout, push);
    XDC_EXPECT(!push.ok() && push.error().message.find("waiting for a push of") != std::string::npos);
    XDC_EXPECT_OK(env.store.put_if("the server has given up", "", kAnyRevision, nullptr, deadline));
  });
}

}  // namespace xdc::contract
