// Pins oneDNN's instruction set once.
#include "core/math/numerics.hpp"

#include <fmt/format.h>

#include <atomic>
#include <oneapi/dnnl/dnnl.hpp>

namespace xdc {
namespace {

constexpr int kNotPinned = -1;
std::atomic<int> pinned{kNotPinned};

const char* name(CpuNumerics numerics) { return numerics == CpuNumerics::portable ? "portable" : "native"; }

const char* instructions() {
  const auto isa = static_cast<unsigned>(dnnl_get_effective_cpu_isa());
  const auto has = [isa](dnnl_cpu_isa_t one) { return (isa & static_cast<unsigned>(one)) == static_cast<unsigned>(one); };
  if (has(dnnl_cpu_isa_avx512_core)) {
    return "AVX-512";
  }
  if (has(dnnl_cpu_isa_avx2)) {
    return "AVX2";
  }
  return has(dnnl_cpu_isa_avx) ? "AVX" : "SSE4.1";
}

}  // namespace

Status pin_numerics(CpuNumerics numerics) {
  int before = kNotPinned;
  if (!pinned.compare_exchange_strong(before, static_cast<int>(numerics))) {
    if (before == static_cast<int>(numerics)) {
      return ok_status();
    }
    return Error{ErrorCode::failed, fmt::format("numerics = \"{}\": this process already computes with \"{}\"; start another one",
                                                name(numerics), name(static_cast<CpuNumerics>(before)))};
  }
  const auto isa = numerics == CpuNumerics::portable ? dnnl_cpu_isa_avx2 : dnnl_cpu_isa_all;
  if (dnnl_set_max_cpu_isa(isa) != dnnl_success) {
    return Error{ErrorCode::failed, "oneDNN was used before its instruction set could be pinned"};
  }
  return ok_status();
}

std::string describe_numerics() {
  const dnnl_version_t* version = dnnl_version();
  return fmt::format("oneDNN {}.{}.{}, {}", version->major, version->minor, version->patch, instructions());
}

}  // namespace xdc
