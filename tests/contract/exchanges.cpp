// Do the strategies add what they say, in the order they say, and move exactly the bytes of their closed form? Each is run with
// real tensors in each world and held, bit for bit, against a reference that is written element by element.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <map>

#include "core/base/rng.hpp"
#include "core/math/fp16.hpp"
#include "core/strategies/registry.hpp"
#include "tests/contract/world.hpp"

namespace xdc::contract {
namespace {

using Vector = std::vector<float>;

Vector contribution(MemberId worker, int64_t n) {
  RandomStream stream(11, "contribution", static_cast<uint32_t>(worker));
  Vector values(static_cast<size_t>(n));
  for (auto& v : values) {
    v = stream.uniform_float() * 2 - 1;
  }
  return values;
}

float through(const CodecSpec& codec, float x) { return codec.kind == CodecKind::none ? x : float_from_half(half_from_float(x)); }

size_t holder(const std::vector<Range>& ranges, int64_t element) {
  for (size_t i = 0; i < ranges.size(); ++i) {
    if (element >= ranges[i].begin && element < ranges[i].end()) {
      return i;
    }
  }
  return ranges.size();
}

// What the documents say becomes of one element.
class Reference {
 public:
  Reference(const StrategyPlan& plan, std::vector<Vector> contributions) : plan_(plan), contributions_(std::move(contributions)) {}

  float element(int64_t i) const {
    if (std::holds_alternative<RingAllReduceSpec>(plan_.spec)) {
      return flat_ring(i);
    }
    return std::holds_alternative<ParameterServerSpec>(plan_.spec) ? server(i) : hierarchical(i);
  }

 private:
  float own(MemberId worker, int64_t i) const { return contributions_[static_cast<size_t>(worker)][static_cast<size_t>(i)]; }

  float server(int64_t i) const {
    const MemberId home = plan_.cluster.servers().front();
    float sum = 0;
    for (MemberId w = 0; w < plan_.cluster.workers(); ++w) {
      const float term = through(plan_.codec_between(w, home), own(w, i));
      sum = w == 0 ? term : sum + term;
    }
    return sum;
  }

  // Along a ring from the start of the element's chunk; terms[k] is what ring member k has.
  float along(const Vector& terms, const std::vector<CodecSpec>& hops, size_t start, const CodecSpec& finished) const {
    float partial = terms[start];
    for (size_t step = 1; step < terms.size(); ++step) {
      const size_t at = (start + step) % terms.size();
      partial = through(hops[(at + terms.size() - 1) % terms.size()], partial) + terms[at];
    }
    return through(finished, partial);
  }

  float flat_ring(int64_t i) const {
    std::vector<MemberId> order;
    const bool interleaved = std::get<RingAllReduceSpec>(plan_.spec).order == RingOrder::interleaved;
    for (int local = 0; interleaved && local < plan_.cluster.workers(); ++local) {
      for (size_t d = 0; d < plan_.cluster.datacenters.size(); ++d) {
        const auto workers = plan_.cluster.workers_of(static_cast<int>(d));
        if (local < static_cast<int>(workers.size())) {
          order.push_back(workers[static_cast<size_t>(local)]);
        }
      }
    }
    for (MemberId w = 0; !interleaved && w < plan_.cluster.workers(); ++w) {
      order.push_back(w);
    }
    Vector terms;
    std::vector<CodecSpec> hops;
    bool wan = false, lan = false;
    for (size_t k = 0; k < order.size(); ++k) {
      terms.push_back(own(order[k], i));
      hops.push_back(plan_.codec_between(order[k], order[(k + 1) % order.size()]));
      const auto dc = [&](size_t at) { return plan_.cluster.members[static_cast<size_t>(order[at % order.size()])].datacenter; };
      (dc(k) != dc(k + 1) ? wan : lan) = true;
    }
    const CodecSpec finished = wan && plan_.codecs.wan.kind != CodecKind::none ? plan_.codecs.wan : lan ? plan_.codecs.lan : CodecSpec{};
    return along(terms, hops, holder(deal(bucket_of(i), static_cast<int>(order.size())), i), order.size() == 1 ? CodecSpec{} : finished);
  }

  Range bucket_of(int64_t i) const { return plan_.buckets[holder(plan_.buckets, i)]; }

  float hierarchical(int64_t i) const {
    const auto& spec = std::get<HierarchicalAllReduceSpec>(plan_.spec);
    const auto lanes = deal(bucket_of(i), spec.lanes);
    const size_t lane = holder(lanes, i);
    Vector partial;
    bool alone_everywhere = true;
    for (size_t d = 0; d < plan_.cluster.datacenters.size(); ++d) {
      const auto workers = plan_.cluster.workers_of(static_cast<int>(d));
      const size_t owner = lane % workers.size();
      float sum = 0;
      for (size_t r = 0; r < workers.size(); ++r) {
        const float term = r == owner ? own(workers[r], i) : through(plan_.codecs.lan, own(workers[r], i));
        sum = r == 0 ? term : sum + term;
      }
      alone_everywhere = alone_everywhere && workers.size() == 1;
      partial.push_back(sum);
    }
    const float total = across(partial, lanes[lane], i);
    return alone_everywhere ? total : through(plan_.codecs.lan, total);
  }

  float across(const Vector& partial, Range shard, int64_t i) const {
    const auto exchange = std::get<HierarchicalAllReduceSpec>(plan_.spec).exchange;
    const auto& codec = plan_.codecs.wan;
    if (partial.size() == 1) {
      return partial[0];
    }
    const size_t part = holder(deal(shard, static_cast<int>(partial.size())), i);
    if (exchange == Exchange::ring) {
      return along(partial, std::vector<CodecSpec>(partial.size(), codec), part, codec);
    }
    float sum = 0;
    for (size_t d = 0; d < partial.size(); ++d) {
      const float term = exchange == Exchange::mesh && d == part ? partial[d] : through(codec, partial[d]);
      sum = d == 0 ? term : sum + term;
    }
    return exchange == Exchange::mesh ? through(codec, sum) : sum;
  }

  const StrategyPlan& plan_;
  std::vector<Vector> contributions_;
};

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

void work(Env& env, const StrategyPlan& plan, MemberId self, int rounds, const Vector& expected) {
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
  for (int round = 1; round <= rounds; ++round) {
    fill(env, stream, gradient, contribution(self, plan.parameters));
    const auto sum = strategy->exchange({round, deadline, {self + 1, 1}, gradient, parameters, [](int) { return ok_status(); }});
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
      const float wanted = pulls ? 0.0F - expected[i] : expected[i];
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
  StrategyPlan plan{spec, setting.cluster, plan_buckets(parameters, bucket_bytes), parameters, codecs};
  kind.add_members(spec, setting.topology, plan.cluster);
  setting.cluster = plan.cluster;
  REQUIRE(kind.resolve(plan, setting.topology).ok());
  std::vector<Vector> contributions;
  for (MemberId w = 0; w < plan.cluster.workers(); ++w) {
    contributions.push_back(contribution(w, parameters));
  }
  const Reference reference(plan, contributions);
  Vector expected;
  for (int64_t i = 0; i < parameters; ++i) {
    expected.push_back(reference.element(i));
  }
  auto notes = world().run(setting, [&](Env& env, MemberId self) {
    if (plan.cluster.members[static_cast<size_t>(self)].role == Role::server) {
      serve(env, plan, self, kRounds);
    } else {
      work(env, plan, self, kRounds, expected);
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
void check_everywhere(const StrategySpec& spec) {
  const CodecSpec none{}, fp16{CodecKind::fp16};
  for (const auto& datacenters : std::vector<std::vector<int>>{{2, 2}, {3, 1, 2}, {1, 1}, {4}, {1}, {2, 2, 2, 2}}) {
    for (const TierCodecs codecs : {TierCodecs{none, none}, TierCodecs{none, fp16}, TierCodecs{fp16, fp16}, TierCodecs{fp16, none}}) {
      check(datacenters, spec, codecs, 3000, 1 << 20);
    }
    check(datacenters, spec, {none, fp16}, 5001, 4096);
    check(datacenters, spec, {none, none}, 100, 1 << 20);
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
}

TEST_CASE("a hierarchical exchange adds in rank order, then in the topology's, and moves its closed form") {
  for (const Exchange exchange : {Exchange::mesh, Exchange::allgather, Exchange::ring}) {
    for (const int lanes : {1, 2, 4}) {
      check_everywhere(HierarchicalAllReduceSpec{lanes, exchange, false});
    }
  }
}

}  // namespace xdc::contract
