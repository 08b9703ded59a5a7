// Are the bits the same again: in this process, in another, in another thread, and with others' networks in between?
#include <pthread.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

#include "core/base/digest.hpp"
#include "tests/kernels/short_run.hpp"

namespace xdc {
namespace {

std::string digest_of(const std::vector<float>& values) { return digest(std::as_bytes(std::span<const float>(values))); }

std::string digest_of_other_process(const std::string& environment) {
  FILE* pipe = ::popen((environment + " '" XDC_KERNELS_DIGEST "'").c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::array<char, 64> line{};
  REQUIRE(std::fgets(line.data(), line.size(), pipe) != nullptr);
  REQUIRE(::pclose(pipe) == 0);
  std::string text = line.data();
  text.pop_back();
  return text;
}

TEST_CASE("A run gives the same bits twice in one process, and other bits with another seed") {
  const std::string first = digest_of(ShortRun(1).finish());
  CHECK(digest_of(ShortRun(1).finish()) == first);
  CHECK(digest_of(ShortRun(2).finish()) != first);
}

TEST_CASE("Other processes give the same bits, however many threads they are offered") {
  const std::string here = digest_of(ShortRun(1).finish());
  CHECK(digest_of_other_process("") == here);
  CHECK(digest_of_other_process("OMP_NUM_THREADS=2") == here);
  CHECK(digest_of_other_process("ONEDNN_MAX_CPU_ISA=SSE41") == here);
}

TEST_CASE("A thread that never said how many threads oneDNN may use gives the same bits") {
  const std::string here = digest_of(ShortRun(1).finish());
  std::string there;
  std::thread other([&there] { there = digest_of(ShortRun(1).finish()); });
  other.join();
  CHECK(there == here);
}

// What a simulated lane has. pthreads, because std::thread cannot say how large its stack is.
void run_on_small_stack(std::string& result) {
  constexpr size_t kLaneStack = 256U << 10;
  pthread_attr_t attributes;
  REQUIRE(::pthread_attr_init(&attributes) == 0);
  REQUIRE(::pthread_attr_setstacksize(&attributes, kLaneStack) == 0);
  const auto body = [](void* out) -> void* {
    *static_cast<std::string*>(out) = digest_of(ShortRun(1).finish());
    return nullptr;
  };
  pthread_t thread{};
  REQUIRE(::pthread_create(&thread, &attributes, body, &result) == 0);
  REQUIRE(::pthread_join(thread, nullptr) == 0);
  REQUIRE(::pthread_attr_destroy(&attributes) == 0);
}

TEST_CASE("A stack of 256 KiB is enough to compile and train a network") {
  std::string there;
  run_on_small_stack(there);
  CHECK(there == digest_of(ShortRun(1).finish()));
}

TEST_CASE("Twelve networks trained in turn give the bits that each gives alone") {
  std::vector<std::unique_ptr<ShortRun>> ranks;
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    ranks.push_back(std::make_unique<ShortRun>(seed));
  }
  for (int step = 0; step < ShortRun::kSteps; ++step) {
    for (const auto& rank : ranks) {
      rank->step();
    }
  }
  for (const uint64_t seed : {1, 5, 12}) {
    CHECK(digest_of(ranks[seed - 1]->finish()) == digest_of(ShortRun(seed).finish()));
  }
}

}  // namespace
}  // namespace xdc
