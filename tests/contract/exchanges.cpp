// Do the strategies add what they say, in the order they say, and move exactly the bytes of their closed form? Each is run with
// real tensors in each world and held, bit for bit, against a reference that is written element by element.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cstring>

#include "core/base/rng.hpp"
#include "core/strategies/registry.hpp"
#include "tests/contract/exchange_reference.hpp"
#include "tests/contract/world.hpp"

namespace xdc::contract {
namespace {

// Another one each round. In the second one member 1 has run out of samples: all it sends is what its codecs lost before.
Vector contribution(MemberId worker, int round, int64_t n) {
  RandomStream stream(11, "contribution", static_cast<uint32_t>(worker + 1000 * round));
  Vector values(static_cast<size_t>(n));
  if (round == 2 && worker == 1) {
    return values;
  }
  for (auto& v : values) {
    v = stream.uniform_float() * 2 - 1;
  }
  return values;
}

void fill(Env& env, Stream stream, Tensor to, const Vector& values) {
  const auto staging = env.device.allocate(Space::pinned, to.bytes.size).value();
  std::memcpy(staging->bytes().host().data(), values.data(), to.bytes.size);
  env.device.copy(stream, to.bytes, staging->bytes());
  XDC_EXPECT_OK(env.device.wait(env.device.record(stream), kNoDeadline));
}

Vector contents(Env& env, Stream stream, Tensor from) {
  const auto staging = env.device.allocate(Space::pinned, from.bytes.size).value();
  env.device.copy(stream, staging->bytes(), from.bytes);
  XDC_EXPECT_OK(env.device.wait(env.device.record(stream), kNoDeadline));
  Vector values(static_cast<size_t>(from.elements()));
  std::memcpy(values.data(), staging->bytes().host().data(), from.bytes.size);
  return values;
}

struct Tensors {
  std::vector<std::unique_ptr<Buffer>> buffers;
  Tensor make(Env& env, int64_t n) {
    buffers.push_back(env.device.allocate(Space::device, static_cast<size_t>(n) * 4).value());
    return Tensor::flat(buffers.back()->bytes(), DType::f32, n);
  }
};

// `expected`: by round.
void work(Env& env, const StrategyPlan& plan, MemberId self, const std::vector<Vector>& expected) {
  Tensors tensors;
  const Stream stream = env.device.make_stream("test");
  const auto strategy = strategy_of(plan.spec).make_worker(plan, env, self);
  const Deadline deadline = env.clock.now() + seconds(60);
  if (const auto connected = strategy->connect(plan.cluster.everyone(1), deadline); !connected.ok()) {
    XDC_EXPECT_OK(connected);
    return;
  }
  const Tensor gradient = tensors.make(env, plan.parameters);
  const Tensor parameters = tensors.make(env, plan.parameters);
  const ResidualPlan kept = strategy_of(plan.spec).residuals(plan, self);
  Residuals before{&kept, tensors.make(env, kept.elements())}, after{&kept, tensors.make(env, kept.elements())};
  for (int round = 1; round <= static_cast<int>(expected.size()); ++round) {
    fill(env, stream, gradient, contribution(self, round, plan.parameters));
    const auto sum =
        strategy->exchange({round, deadline, {self + 1, 1}, gradient, parameters, [](int) { return ok_status(); }, before, after});
    std::swap(before, after);
    XDC_EXPECT_OK(sum);
    if (!sum.ok()) {
      return;
    }
    const int64_t n = plan.cluster.workers();
    XDC_EXPECT(sum.value().samples == n * (n + 1) / 2 && sum.value().stop_votes == n);
    const bool pulls = strategy->yields() == Yields::parameters;
    auto got = contents(env, stream, pulls ? parameters : gradient);
    size_t wrong = 0;
    for (size_t i = 0; i < got.size(); ++i) {
      // The server's optimizer is plain SGD with rate 1 on parameters that are 0: p = 0 - g.
      const float exact = expected[static_cast<size_t>(round) - 1][i];
      const float wanted = pulls ? 0.0F - exact : exact;
      wrong += std::memcmp(&got[i], &wanted, sizeof(float)) != 0;
    }
    XDC_EXPECT(wrong == 0);
  }
}

void serve(Env& env, const StrategyPlan& plan, MemberId self, int rounds) {
  Tensors tensors;
  OptimizerSpec sgd;
  sgd.learning_rate = 1;
  const Optimizer optimizer(sgd, rounds);
  const auto server = strategy_of(plan.spec).make_server(plan, optimizer, env, self);
  const Deadline deadline = env.clock.now() + seconds(60);
  if (const auto connected = server->connect(plan.cluster.everyone(1), deadline); !connected.ok()) {
    XDC_EXPECT_OK(connected);
    return;
  }
  const Tensor zero = tensors.make(env, server->owned().count);
  const Tensor after = tensors.make(env, server->owned().count);
  for (int round = 1; round <= rounds; ++round) {
    XDC_EXPECT_OK(server->serve({round, deadline, zero, after, {}, {}}));
  }
}

// Payload bytes between datacenters, as counted by every member's fabric.
class Ledger {
 public:
  void book(const Cluster& cluster, MemberId from, const std::vector<TrafficCount>& traffic) {
    for (const auto& count : traffic) {
      const int a = cluster.members[static_cast<size_t>(from)].datacenter, b = cluster.members[static_cast<size_t>(count.to)].datacenter;
      if (a != b && count.payload_bytes > 0) {
        note(fmt::format("ledger {} {} {}", a, b, count.payload_bytes));
      }
    }
  }
  // Takes the entries out of the collected notes; what is left are problems.
  static PairBytes close(std::vector<std::string>& notes) {
    PairBytes pairs;
    std::vector<std::string> problems;
    for (const auto& text : notes) {
      int a = 0, b = 0;
      long long bytes = 0;
      if (std::sscanf(text.c_str(), "ledger %d %d %lld", &a, &b, &bytes) == 3) {
        pairs[{a, b}] += bytes;
      } else {
        problems.push_back(text);
      }
    }
    notes = problems;
    return pairs;
  }
};

void check(std::vector<int> datacenters, StrategySpec spec, TierCodecs codecs, int64_t parameters, int64_t bucket_bytes) {
  constexpr int kRounds = 2;
  auto setting = setting_of(std::move(datacenters));
  const auto& kind = strategy_of(spec);
  StrategyPlan plan{spec, setting.cluster, plan_buckets(parameters, bucket_bytes), parameters, codecs, 23};
  kind.add_members(spec, setting.topology, plan.cluster);
  setting.cluster = plan.cluster;
  REQUIRE(kind.resolve(plan, setting.topology).ok());
  ExchangeReference reference(plan);
  std::vector<Vector> expected;
  for (int round = 1; round <= kRounds; ++round) {
    std::vector<Vector> contributions;
    for (MemberId w = 0; w < plan.cluster.workers(); ++w) {
      contributions.push_back(contribution(w, round, parameters));
    }
    expected.push_back(reference.round(contributions));
  }
  auto notes = world().run(setting, [&](Env& env, MemberId self) {
    if (plan.cluster.members[static_cast<size_t>(self)].role == Role::server) {
      serve(env, plan, self, kRounds);
    } else {
      work(env, plan, self, expected);
    }
    Ledger().book(plan.cluster, self, env.fabric.traffic());
  });
  const auto measured = Ledger::close(notes);
  auto wanted = kind.payload_per_round(plan);
  for (auto& [pair, bytes] : wanted) {
    bytes *= kRounds;
  }
  INFO(kind.name << ", " << plan.cluster.workers() << " workers in " << plan.cluster.datacenters.size() << " datacenters, " << parameters
                 << " parameters in " << plan.buckets.size() << " buckets, wan " << codec_name(codecs.wan.kind) << ", lan "
                 << codec_name(codecs.lan.kind));
  for (const auto& problem : notes) {
    FAIL_CHECK(problem);
  }
  CHECK(measured == wanted);
}

// Unequal datacenters, one datacenter, single ranks; parameters that do not divide, fewer blocks than parts, several buckets.
const std::vector<std::vector<int>> kEverywhere{{2, 2}, {3, 1, 2}, {1, 1}, {4}, {1}, {2, 2, 2, 2}};
const CodecSpec kNone{}, kFp16{CodecKind::fp16}, kBf16{CodecKind::bf16}, kInt8{CodecKind::int8, Rounding::nearest, 0, true},
    kStochastic{CodecKind::int8, Rounding::stochastic, 0, true}, kForgetful{CodecKind::int8, Rounding::stochastic, 0, false},
    kTopK{CodecKind::top_k, Rounding::nearest, 0.07, true};

void check_everywhere(const StrategySpec& spec) {
  for (const auto& datacenters : kEverywhere) {
    for (const TierCodecs& codecs : {TierCodecs{kNone, kNone}, TierCodecs{kNone, kFp16}, TierCodecs{kFp16, kFp16}, TierCodecs{kFp16, kNone},
                                     TierCodecs{kBf16, kInt8}, TierCodecs{kStochastic, kStochastic}, TierCodecs{kInt8, kForgetful}}) {
      check(datacenters, spec, codecs, 3000, 1 << 20);
    }
    check(datacenters, spec, {kNone, kFp16}, 5001, 4096);
    check(datacenters, spec, {kNone, kStochastic}, 5001, 4096);
    check(datacenters, spec, {kNone, kNone}, 100, 1 << 20);
  }
}

// Where the strategy's sums are encoded once only.
void check_top_k(const StrategySpec& spec, const CodecSpec& lan) {
  for (const auto& datacenters : kEverywhere) {
    check(datacenters, spec, {lan, kTopK}, 3000, 1 << 20);
    check(datacenters, spec, {lan, kTopK}, 5001, 4096);
  }
}

}  // namespace

TEST_CASE("a flat ring adds along the ring and moves its closed form") {
  check_everywhere(RingAllReduceSpec{RingOrder::contiguous});
  check_everywhere(RingAllReduceSpec{RingOrder::interleaved});
}

TEST_CASE("a parameter server adds in rank order and moves its closed form") {
  check_everywhere(ParameterServerSpec{0, 1});
  check({2, 3}, ParameterServerSpec{1, 3}, {}, 3000, 2048);
  check_top_k(ParameterServerSpec{0, 1}, kTopK);
  check({2, 3}, ParameterServerSpec{1, 3}, {kTopK, kTopK}, 3000, 2048);
  check({2, 3}, ParameterServerSpec{1, 3}, {kStochastic, kInt8}, 3000, 2048);
}

TEST_CASE("servers in every datacenter own the elements between them, and move their closed form") {
  for (const int shards : {1, 2}) {
    const ParameterServerSpec spec{0, shards, true};
    for (const auto& datacenters : kEverywhere) {
      for (const TierCodecs& codecs :
           {TierCodecs{kNone, kNone}, TierCodecs{kNone, kFp16}, TierCodecs{kFp16, kStochastic}, TierCodecs{kTopK, kTopK}}) {
        check(datacenters, spec, codecs, 3000, 1 << 20);
        check(datacenters, spec, codecs, 5001, 4096);
      }
    }
  }
}

TEST_CASE("aggregators push a datacenter's sum once, and hand inside what comes back") {
  check_everywhere(ParameterServerSpec{0, 1, false, true});
  check_top_k(ParameterServerSpec{0, 2, false, true}, kNone);
  check_top_k(ParameterServerSpec{0, 2, true, true}, kNone);
  check({3, 1, 2}, ParameterServerSpec{1, 3, false, true}, {kFp16, kInt8}, 5001, 2048);
  check({3, 1, 2}, ParameterServerSpec{0, 2, true, true}, {kInt8, kStochastic}, 5001, 2048);
}

TEST_CASE("a hierarchical exchange adds in rank order, then in the topology's, and moves its closed form") {
  for (const Exchange exchange : {Exchange::mesh, Exchange::allgather, Exchange::ring}) {
    for (const int lanes : {1, 2, 4}) {
      check_everywhere(HierarchicalAllReduceSpec{lanes, exchange, false});
    }
  }
}

TEST_CASE("a hierarchical all-gather carries top-k, and finished sums take the codec inside") {
  for (const int lanes : {1, 4}) {
    check_top_k(HierarchicalAllReduceSpec{lanes, Exchange::allgather, false}, kNone);
    check_top_k(HierarchicalAllReduceSpec{lanes, Exchange::mesh, true}, kStochastic);
  }
}

}  // namespace xdc::contract
