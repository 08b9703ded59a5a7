#include "core/base/time.hpp"

#include <cmath>

#include "core/base/check.hpp"

namespace xdc {

Duration from_seconds(double s) {
  XDC_CHECK(s >= 0 && s < 9.2e9);
  return {static_cast<int64_t>(std::floor(s * 1e9 + 0.5))};
}

}  // namespace xdc
