// Do hardware collectives reduce what they are given, in rank order where they can? A world without them says `unsupported`.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>

#include "tests/contract/world.hpp"

namespace xdc::contract {
namespace {

// f32 in device memory with given contents.
class DeviceVector {
 public:
  DeviceVector(Env& env, std::vector<float> values) : env_(env), stream_(env.device.make_stream("vector")), values_(std::move(values)) {
    buffer_ = env.device.allocate(Space::device, values_.size() * 4).value();
    const auto staging = env.device.allocate(Space::pinned, values_.size() * 4).value();
    std::ranges::copy(std::as_bytes(std::span(values_)), staging->bytes().host().begin());
    env.device.copy(stream_, buffer_->bytes(), staging->bytes());
    XDC_EXPECT_OK(env.device.wait(env.device.record(stream_), kNoDeadline));
  }
  Tensor tensor() const { return Tensor::flat(buffer_->bytes(), DType::f32, static_cast<int64_t>(values_.size())); }
  std::vector<float> read() {
    const auto staging = env_.device.allocate(Space::pinned, values_.size() * 4).value();
    env_.device.copy(stream_, staging->bytes(), buffer_->bytes());
    XDC_EXPECT_OK(env_.device.wait(env_.device.record(stream_), kNoDeadline));
    std::vector<float> values(values_.size());
    std::ranges::copy(staging->bytes().host(), std::as_writable_bytes(std::span(values)).begin());
    return values;
  }

 private:
  Env& env_;
  Stream stream_;
  std::vector<float> values_;
  std::unique_ptr<Buffer> buffer_;
};

// Sums of these depend on the order of addition.
std::vector<float> contribution(MemberId rank, size_t n) {
  std::vector<float> values(n);
  for (size_t i = 0; i < n; ++i) {
    values[i] =
        std::ldexp(1.0F + static_cast<float>((i * 7 + static_cast<size_t>(rank) * 13) % 101) / 101, (rank * 11 + static_cast<int>(i)) % 24);
  }
  return values;
}

std::vector<float> sum_in_rank_order(int ranks, size_t n) {
  auto sum = contribution(0, n);
  for (int rank = 1; rank < ranks; ++rank) {
    const auto values = contribution(rank, n);
    for (size_t i = 0; i < n; ++i) sum[i] += values[i];
  }
  return sum;
}

std::unique_ptr<Collectives> joined(Env& env, const View& view) {
  auto collectives = env.fabric.native_collectives(view, "inside", env.clock.now() + seconds(60));
  if (!world().has_native_collectives()) {
    XDC_EXPECT_ERROR(ErrorCode::unsupported, collectives);
    return nullptr;
  }
  XDC_EXPECT_OK(collectives);
  return collectives.ok() ? std::move(collectives).value() : nullptr;
}

}  // namespace

TEST_CASE("all_reduce gives every rank the sum in rank order, whoever comes last", "[collectives]") {
  for (const int ranks : {1, 2, 3, 5}) {
    const auto setting = setting_of({ranks});
    hold(setting, [ranks, view = setting.cluster.everyone(1)](Env& env, MemberId me) {
      const auto collectives = joined(env, view);
      if (collectives == nullptr) return;
      for (const size_t n : {size_t{1}, size_t{256}, size_t{1'000}, size_t{0}}) {
        DeviceVector values(env, contribution(me, n));
        env.clock.sleep_until(env.clock.now() + milliseconds((me * 7) % 5));
        XDC_EXPECT_OK(collectives->all_reduce(values.tensor(), static_cast<int64_t>(n) * 4, env.clock.now() + seconds(60)));
        XDC_EXPECT(values.read() == sum_in_rank_order(ranks, n));
      }
    });
  }
}

TEST_CASE("reduce_scatter and all_gather take uneven and empty parts", "[collectives]") {
  const auto setting = setting_of({3});
  hold(setting, [view = setting.cluster.everyone(1)](Env& env, MemberId me) {
    const auto collectives = joined(env, view);
    if (collectives == nullptr) return;
    const auto deadline = env.clock.now() + seconds(60);
    const Part parts[] = {{0, 700, 2, 2'800}, {700, 0, 1, 0}, {700, 300, 0, 1'200}};
    const auto sum = sum_in_rank_order(3, 1'000);
    DeviceVector values(env, contribution(me, 1'000));
    XDC_EXPECT_OK(collectives->reduce_scatter(values.tensor(), parts, deadline));
    const auto scattered = values.read();
    for (const auto& part : parts) {
      for (int64_t i = part.offset; part.owner == me && i < part.offset + part.count; ++i) {
        XDC_EXPECT(scattered[static_cast<size_t>(i)] == sum[static_cast<size_t>(i)]);
      }
    }
    XDC_EXPECT_OK(collectives->all_gather(values.tensor(), parts, deadline));
    XDC_EXPECT(values.read() == sum);
  });
}

TEST_CASE("broadcast gives every rank the root's values", "[collectives]") {
  const auto setting = setting_of({3});
  hold(setting, [view = setting.cluster.everyone(1)](Env& env, MemberId me) {
    const auto collectives = joined(env, view);
    if (collectives == nullptr) return;
    for (int root = 0; root < 3; ++root) {
      DeviceVector values(env, contribution(me, 100));
      XDC_EXPECT_OK(collectives->broadcast(values.tensor(), root, 400, env.clock.now() + seconds(60)));
      XDC_EXPECT(values.read() == contribution(root, 100));
    }
  });
}

TEST_CASE("counts are summed although the payload is phantom", "[collectives]") {
  auto setting = setting_of({3});
  setting.payload = PayloadKind::phantom;
  hold(setting, [view = setting.cluster.everyone(1)](Env& env, MemberId me) {
    const auto collectives = joined(env, view);
    if (collectives == nullptr) return;
    const auto deadline = env.clock.now() + seconds(60);
    const auto gradient = env.device.allocate(Space::device, 4'000'000).value();
    XDC_EXPECT_OK(collectives->all_reduce(Tensor::flat(gradient->bytes(), DType::f32, 1'000'000), 4'000'000, deadline));
    const auto counts = env.device.allocate(Space::pinned, 16).value();
    const int64_t mine[] = {me + 1, int64_t{1} << 40};
    std::memcpy(counts->bytes().data, mine, 16);
    XDC_EXPECT_OK(collectives->all_reduce(Tensor::flat(counts->bytes(), DType::i64, 2), 16, deadline));
    int64_t sums[2];
    std::memcpy(sums, counts->bytes().data, 16);
    XDC_EXPECT(sums[0] == 6 && sums[1] == int64_t{3} << 40);
  });
}

TEST_CASE("a rank that does not come makes the others time out, and their collectives stay broken", "[collectives]") {
  const auto setting = setting_of({3});
  hold(setting, [cluster = setting.cluster](Env& env, MemberId me) {
    const auto collectives = joined(env, cluster.everyone(1));
    if (collectives == nullptr) return;
    if (me == 2) {
      env.clock.sleep_until(env.clock.now() + seconds(2));
      return;
    }
    DeviceVector values(env, contribution(me, 10));
    const auto deadline = env.clock.now() + milliseconds(200);
    const auto late = collectives->all_reduce(values.tensor(), 40, deadline);
    XDC_EXPECT_ERROR(ErrorCode::timeout, late);
    if (world().is_virtual_time()) {
      XDC_EXPECT(env.clock.now() == deadline);
      XDC_EXPECT(!late.ok() && late.error().message.find(cluster.describe(2)) != std::string::npos);
    }
    XDC_EXPECT_ERROR(ErrorCode::timeout, collectives->all_reduce(values.tensor(), 40, env.clock.now() + seconds(60)));
  });
}

TEST_CASE("an abort of collectives reaches the one who waits and the other ranks", "[collectives]") {
  const auto setting = setting_of({2});
  hold(setting, [view = setting.cluster.everyone(1)](Env& env, MemberId me) {
    const auto collectives = joined(env, view);
    if (collectives == nullptr) return;
    const auto deadline = env.clock.now() + seconds(60);
    DeviceVector values(env, contribution(me, 10));
    if (me == 0) {
      const auto lane = env.lanes.spawn("aborter", [&] {
        env.clock.sleep_until(env.clock.now() + milliseconds(100));
        collectives->abort({ErrorCode::aborted, "enough"});
      });
      XDC_EXPECT_ERROR(ErrorCode::aborted, collectives->all_reduce(values.tensor(), 40, deadline));
      lane->join();
      env.clock.sleep_until(env.clock.now() + milliseconds(500));
      return;
    }
    env.clock.sleep_until(env.clock.now() + milliseconds(300));
    XDC_EXPECT_ERROR(ErrorCode::peer_lost, collectives->all_reduce(values.tensor(), 40, deadline));
  });
}

TEST_CASE("members of different datacenters have no hardware collectives", "[collectives]") {
  const auto setting = setting_of({1, 1});
  hold(setting, [view = setting.cluster.everyone(1)](Env& env, MemberId) {
    XDC_EXPECT_ERROR(ErrorCode::unsupported, env.fabric.native_collectives(view, "across", env.clock.now() + seconds(60)));
  });
}

}  // namespace xdc::contract
