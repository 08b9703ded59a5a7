// How fast does the simulator run a flat ring, and does it end when the formula says? Phantom, point to point, plain link model:
// 2 (n-1) steps of S/n bytes, 2 (n-1)/n S/B + 2 (n-1) L in all. And: do native collectives take what the ring takes?
//
//   bench_ring               256 ranks and 100 MiB, then native against point-to-point code from 1 KB to 1 GB
//   bench_ring RANKS BYTES   one ring
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "core/math/null_kernels.hpp"
#include "sim/run.hpp"
#include "tests/bench/ring/plain_ring.hpp"

namespace {

using namespace xdc;

struct Lan {
  double bytes_per_s = 0;
  Duration latency;
};

WorldSpec flat_world(int ranks, Lan lan) {
  WorldSpec spec;
  DatacenterSpec datacenter;
  datacenter.name = "flat";
  datacenter.nodes = ranks;
  datacenter.lan = datacenter.intra_node = {lan.bytes_per_s, lan.latency};
  spec.topology.datacenters = {datacenter};
  spec.cluster = make_cluster(spec.topology);
  spec.devices.assign(static_cast<size_t>(ranks), {"a100_80g", 1.2e14, 1.5e12, int64_t{80} << 30, "bench"});
  spec.payload = PayloadKind::phantom;
  return spec;
}

struct Outcome {
  int64_t virtual_ns = 0;
  double wall_s = 0;
  double cpu_s = 0;  // what the wall time would be on a machine that does nothing else
};

// A process runs one simulation.
Outcome in_child(const WorldSpec& spec, const std::function<void(Env&, MemberId)>& body) {
  int ends[2];
  XDC_CHECK(pipe(ends) == 0);
  std::fflush(nullptr);
  if (fork() == 0) {
    NullKernels none;
    const auto began = std::chrono::steady_clock::now();
    int64_t last = 0;
    const auto end = run_world(spec, none, {}, [&](Env& env, MemberId me) {
      body(env, me);
      last = std::max(last, env.clock.now().ns);
    });
    if (!end.ok()) {
      std::fputs((end.error().message + "\n").c_str(), stderr);
      _exit(1);
    }
    const Outcome outcome{last, std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count(),
                          static_cast<double>(std::clock()) / CLOCKS_PER_SEC};
    _exit(write(ends[1], &outcome, sizeof outcome) == sizeof outcome ? 0 : 1);
  }
  close(ends[1]);
  Outcome outcome;
  const bool whole = read(ends[0], &outcome, sizeof outcome) == sizeof outcome;
  close(ends[0]);
  int status = 0;
  wait(&status);
  XDC_CHECK_MSG(whole && status == 0, "the simulation failed");
  return outcome;
}

double formula_s(int n, int64_t bytes, Lan lan) {
  return 2.0 * (n - 1) / n * static_cast<double>(bytes) / lan.bytes_per_s + 2.0 * (n - 1) * to_seconds(lan.latency);
}

bool flat_ring(int n, int64_t bytes, Lan lan) {
  const auto spec = flat_world(n, lan);
  const auto outcome =
      in_child(spec, [&, view = spec.cluster.everyone(1)](Env& env, MemberId me) { ring_all_reduce(env, view, me, bytes / 4); });
  const double expected = formula_s(n, bytes, lan);
  const double deviation = static_cast<double>(outcome.virtual_ns) * 1e-9 / expected - 1;
  const int64_t messages = int64_t{2} * (n - 1) * n;
  fmt::print(
      "flat ring, {} ranks, {} bytes: {:.6f} s virtual, formula {:.6f} s, off {:+.4f} %; {:.3f} s wall, {:.3f} s CPU, {:.1f} us CPU a "
      "message\n",
      n, bytes, static_cast<double>(outcome.virtual_ns) * 1e-9, expected, deviation * 100, outcome.wall_s, outcome.cpu_s,
      outcome.cpu_s / static_cast<double>(messages) * 1e6);
  return std::abs(deviation) <= 1e-3;
}

bool native_against_ring(int n, int64_t bytes, Lan lan) {
  const auto spec = flat_world(n, lan);
  const auto view = spec.cluster.everyone(1);
  const auto ring = in_child(spec, [&](Env& env, MemberId me) { ring_all_reduce(env, view, me, bytes / 4); });
  const auto native = in_child(spec, [&](Env& env, MemberId) {
    auto collectives = env.fabric.native_collectives(view, "native", kNoDeadline).value();
    const auto buffer = env.device.allocate(Space::device, static_cast<size_t>(bytes)).value();
    XDC_CHECK(collectives->all_reduce(Tensor::flat(buffer->bytes(), DType::f32, bytes / 4), bytes, kNoDeadline).ok());
  });
  const double deviation = static_cast<double>(native.virtual_ns) / static_cast<double>(ring.virtual_ns) - 1;
  fmt::print("native / ring, {:4} ranks, {:11} bytes, {:5.0f} Gbps, {:3} us: {:13.3f} / {:13.3f} us, off {:+.4f} %\n", n, bytes,
             lan.bytes_per_s * 8e-9, lan.latency.ns / 1000, static_cast<double>(native.virtual_ns) * 1e-3,
             static_cast<double>(ring.virtual_ns) * 1e-3, deviation * 100);
  return std::abs(deviation) <= 0.01;
}

}  // namespace

int main(int argc, char** argv) {
  const Lan fast{25e9, {5'000}};
  if (argc == 3) {
    return flat_ring(std::atoi(argv[1]), std::atoll(argv[2]), fast) ? 0 : 1;
  }
  bool good = flat_ring(256, int64_t{100} << 20, fast);
  for (const auto& lan : {fast, Lan{1.25e9, {50'000}}}) {
    for (const int n : {2, 4, 8, 32}) {
      for (const int64_t bytes : {1'000LL, 10'000LL, 100'000LL, 1'000'000LL, 10'000'000LL, 100'000'000LL, 1'000'000'000LL}) {
        good = native_against_ring(n, bytes, lan) && good;
      }
    }
  }
  std::puts(good ? "all within bounds (ring 0.1 %, native 1 %)" : "OUT OF BOUNDS");
  return good ? 0 : 1;
}
