// How does one test body run as several ranks? Threads in this process, each with a GPU of its own, one store between them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "exec/host/memory_store.hpp"
#include "exec/nccl/nccl_collectives.hpp"
#include "tests/gpu/gpu_world.hpp"

namespace xdc::gpu_test {

inline std::string describe(MemberId member) { return "beijing rank " + std::to_string(member); }

struct RankEnv {
  SteadyClock& clock;
  Store& store;
  View view;
  MemberId self = 0;
  CudaDeviceBase& device;

  Result<std::unique_ptr<Collectives>> connect(std::string_view purpose, Duration patience = seconds(60)) {
    return NcclCollectives::connect(device, store, view, purpose, self, describe, clock.now() + patience);
  }
  Deadline soon() const { return clock.now() + seconds(60); }
};

// Runs `body` on ranks 0..size-1 (`present` of them; the others stay away) and returns what each found wrong.
// Catch2's assertions are for one thread, so bodies return text: empty when all is well.
inline std::vector<std::string> run_ranks(int size, int present, const std::function<std::string(RankEnv&)>& body) {
  SteadyClock clock;
  MemoryStore store(clock);
  View view{1, {}};
  for (int i = 0; i < size; ++i) {
    view.members.push_back(i);
  }
  std::vector<std::string> wrong(static_cast<size_t>(present));
  std::vector<std::thread> threads;
  for (int i = 0; i < present; ++i) {
    threads.emplace_back([&, i] {
      MemoryDevice device(i, describe(i), clock);
      RankEnv env{clock, store, view, i, device};
      wrong[static_cast<size_t>(i)] = body(env);
    });
  }
  for (auto& thread : threads) {
    thread.join();
  }
  return wrong;
}

}  // namespace xdc::gpu_test

// Leaves a rank's body with the reason.
#define XDC_RANK_CHECK(condition)                                                      \
  do {                                                                                 \
    if (!(condition)) {                                                                \
      return std::string(__FILE__) + ":" + std::to_string(__LINE__) + ": " #condition; \
    }                                                                                  \
  } while (false)
#define XDC_RANK_OK(...)                                                                             \
  do {                                                                                               \
    if (const auto& xdc_it = (__VA_ARGS__); !xdc_it.ok()) {                                          \
      return std::string(__FILE__) + ":" + std::to_string(__LINE__) + ": " + xdc_it.error().message; \
    }                                                                                                \
  } while (false)
