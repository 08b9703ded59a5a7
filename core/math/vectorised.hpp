// How is a loop that is written once compiled twice: for the processor that every build must run on, and for AVX2? Without fused
// multiply-adds (-ffp-contract=off) both round alike.
#pragma once

#include <cstddef>

namespace xdc {

inline bool has_avx2() {
  static const bool has = __builtin_cpu_supports("avx2") != 0;
  return has;
}

template <class Loop>
[[gnu::target("avx2")]] void run_avx2(const Loop& loop, size_t n) {
  loop(n);
}

// Runs loop(n) compiled for AVX2 where the processor has it. The loop must be inlined here to be compiled for it: its lambda
// is declared __attribute__((always_inline)), and so is all that it calls.
template <class Loop>
void run_vectorised(const Loop& loop, size_t n) {
  if (has_avx2()) {
    run_avx2(loop, n);
  } else {
    loop(n);
  }
}

}  // namespace xdc
