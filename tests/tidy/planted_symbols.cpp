// Planted for the test of core_symbols.sh: what core must never call.
#include <cstdlib>
#include <ctime>

namespace xdc::tidy {

bool planted() {
  timespec now{};
  return clock_gettime(CLOCK_MONOTONIC, &now) == 0 && std::getenv("XDC_PLANTED") == nullptr;
}

}  // namespace xdc::tidy
