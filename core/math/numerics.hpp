// Which instructions may oneDNN use? A setting of the process, made before its first primitive.
#pragma once

#include <string>

#include "core/base/result.hpp"

namespace xdc {

enum class CpuNumerics {
  portable,  // at most AVX2, so that processors with and without AVX-512 run the same code
  native,    // whatever this processor has: about twice as fast, the same bits only on the same kind of processor
};

// Idempotent. Errors: failed, when the process is already pinned to the other (oneDNN cannot go back). Whoever makes
// CpuKernels without calling this first gets `portable`.
Status pin_numerics(CpuNumerics numerics);

// "oneDNN 2.6.3, AVX2": the library and the instructions in use, for reports.
std::string describe_numerics();

}  // namespace xdc
