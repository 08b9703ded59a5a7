// Does NCCL keep the seam's promises? Runs on real GPUs (one rank each) and on the fake ones.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <vector>

#include "tests/gpu/ranks.hpp"

namespace xdc::gpu_test {
namespace {

const std::vector<std::string> kNothing1(1), kNothing3(3);

// f32 values that differ by rank and place; small integers, so that a sum is exact in any order.
float value_of(int rank, int64_t i) { return static_cast<float>((i * 7 + rank * 13) % 101 - 50); }
float sum_of(int ranks, int64_t i) {
  float total = 0;
  for (int r = 0; r < ranks; ++r) {
    total += value_of(r, i);
  }
  return total;
}

// A tensor in device memory with this rank's values, and a way to look at it.
struct Vector {
  std::unique_ptr<Buffer> device, host;
  int64_t count = 0;
  Stream stream;
  Tensor tensor() const { return Tensor::flat(device->bytes(), DType::f32, count); }
};

Result<Vector> make_vector(RankEnv& env, int64_t count) {
  const auto size = static_cast<size_t>(count) * sizeof(float);
  Vector v;
  v.count = count;
  v.stream = env.device.make_stream("test");
  XDC_TRY_ASSIGN(v.device, env.device.allocate(Space::device, size));
  XDC_TRY_ASSIGN(v.host, env.device.allocate(Space::pinned, size));
  auto* floats = reinterpret_cast<float*>(v.host->bytes().data);
  for (int64_t i = 0; i < count; ++i) {
    floats[i] = value_of(env.self, i);
  }
  env.device.copy(v.stream, v.device->bytes(), v.host->bytes());
  XDC_TRY(env.device.wait(env.device.record(v.stream), env.soon()));
  return v;
}

Result<std::vector<float>> contents(RankEnv& env, const Vector& v) {
  env.device.copy(v.stream, v.host->bytes(), v.device->bytes());
  XDC_TRY(env.device.wait(env.device.record(v.stream), env.soon()));
  std::vector<float> floats(static_cast<size_t>(v.count));
  std::memcpy(floats.data(), v.host->bytes().data, v.host->bytes().size);
  return floats;
}

std::string adds(RankEnv& env) {
  auto collectives = env.connect("gradients");
  XDC_RANK_OK(collectives);
  for (const int64_t count : {int64_t{1}, int64_t{255}, int64_t{100'003}}) {
    auto v = make_vector(env, count);
    XDC_RANK_OK(v);
    XDC_RANK_OK(collectives.value()->all_reduce(v.value().tensor(), count * 4, env.soon()));
    const auto got = contents(env, v.value());
    XDC_RANK_OK(got);
    for (int64_t i = 0; i < count; ++i) {
      XDC_RANK_CHECK(got.value()[static_cast<size_t>(i)] == sum_of(env.view.size(), i));
    }
  }
  return {};
}

// Parts of different sizes, one empty, dealt to owners in no order.
std::vector<Part> uneven_parts(int ranks, int64_t count) {
  const int64_t first = count / 3 + 5;
  return {{0, first, ranks - 1, 4 * first}, {first, 0, 0, 0}, {first, count - first, 0, 4 * (count - first)}};
}

std::string scatters_and_gathers(RankEnv& env) {
  constexpr int64_t kCount = 10'007;
  auto collectives = env.connect("gradients");
  XDC_RANK_OK(collectives);
  auto v = make_vector(env, kCount);
  XDC_RANK_OK(v);
  const auto parts = uneven_parts(env.view.size(), kCount);
  XDC_RANK_OK(collectives.value()->reduce_scatter(v.value().tensor(), parts, env.soon()));
  auto got = contents(env, v.value());
  XDC_RANK_OK(got);
  for (const auto& part : parts) {
    for (int64_t i = part.offset; i < part.offset + part.count && part.owner == env.self; ++i) {
      XDC_RANK_CHECK(got.value()[static_cast<size_t>(i)] == sum_of(env.view.size(), i));
    }
  }
  XDC_RANK_OK(collectives.value()->all_gather(v.value().tensor(), parts, env.soon()));
  got = contents(env, v.value());
  XDC_RANK_OK(got);
  for (int64_t i = 0; i < kCount; ++i) {
    XDC_RANK_CHECK(got.value()[static_cast<size_t>(i)] == sum_of(env.view.size(), i));
  }
  return {};
}

std::string broadcasts_from_each(RankEnv& env) {
  auto collectives = env.connect("parameters");
  XDC_RANK_OK(collectives);
  for (Rank root = 0; root < env.view.size(); ++root) {
    auto v = make_vector(env, 999);
    XDC_RANK_OK(v);
    XDC_RANK_OK(collectives.value()->broadcast(v.value().tensor(), root, 999 * 4, env.soon()));
    const auto got = contents(env, v.value());
    XDC_RANK_OK(got);
    for (int64_t i = 0; i < 999; ++i) {
      XDC_RANK_CHECK(got.value()[static_cast<size_t>(i)] == value_of(root, i));
    }
  }
  return {};
}

std::string adds_counts(RankEnv& env) {
  auto collectives = env.connect("counts");
  XDC_RANK_OK(collectives);
  for (const size_t count : {size_t{3}, size_t{1}, size_t{17}}) {
    auto buffer = env.device.allocate(Space::pinned, count * sizeof(int64_t));
    XDC_RANK_OK(buffer);
    const auto bytes = buffer.value()->bytes();
    auto* counts = reinterpret_cast<int64_t*>(bytes.data);
    for (size_t i = 0; i < count; ++i) {
      // Beyond what a float or a double holds exactly.
      counts[i] = (int64_t{1} << 60U) / env.view.size() + env.self + static_cast<int64_t>(i);
    }
    XDC_RANK_OK(collectives.value()->all_reduce(Tensor::flat(bytes, DType::i64, static_cast<int64_t>(count)), 24, env.soon()));
    for (size_t i = 0; i < count; ++i) {
      const int64_t n = env.view.size();
      XDC_RANK_CHECK(counts[i] == (int64_t{1} << 60U) / n * n + n * (n - 1) / 2 + n * static_cast<int64_t>(i));
    }
  }
  return {};
}

std::string two_purposes(RankEnv& env) {
  auto first = env.connect("one");
  XDC_RANK_OK(first);
  auto second = env.connect("two");
  XDC_RANK_OK(second);
  auto v = make_vector(env, 10);
  XDC_RANK_OK(v);
  first.value()->abort({ErrorCode::aborted, "given up"});
  XDC_RANK_OK(second.value()->all_reduce(v.value().tensor(), 40, env.soon()));
  return {};
}

}  // namespace

TEST_CASE("all_reduce over NCCL leaves the sum of all ranks on each") {
  XDC_NEEDS_GPUS(3);
  CHECK(run_ranks(3, 3, adds) == kNothing3);
}

TEST_CASE("all_reduce over NCCL in a view of one rank changes nothing") {
  XDC_NEEDS_GPUS(1);
  CHECK(run_ranks(1, 1, adds) == kNothing1);
}

TEST_CASE("uneven parts are added on their owners and gathered from them") {
  XDC_NEEDS_GPUS(3);
  CHECK(run_ranks(3, 3, scatters_and_gathers) == kNothing3);
}

TEST_CASE("parts in a view of one rank are added and gathered") {
  XDC_NEEDS_GPUS(1);
  CHECK(run_ranks(1, 1, scatters_and_gathers) == kNothing1);
}

TEST_CASE("broadcast gives every rank the root's values") {
  XDC_NEEDS_GPUS(3);
  CHECK(run_ranks(3, 3, broadcasts_from_each) == kNothing3);
}

TEST_CASE("counts in pinned memory are added exactly") {
  XDC_NEEDS_GPUS(3);
  CHECK(run_ranks(3, 3, adds_counts) == kNothing3);
}

TEST_CASE("counts in a view of one rank come back exactly") {
  XDC_NEEDS_GPUS(1);
  CHECK(run_ranks(1, 1, adds_counts) == kNothing1);
}

TEST_CASE("breaking one communicator leaves another of the same ranks usable") {
  XDC_NEEDS_GPUS(3);
  CHECK(run_ranks(3, 3, two_purposes) == kNothing3);
}

}  // namespace xdc::gpu_test
