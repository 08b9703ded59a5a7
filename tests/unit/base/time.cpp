#include "core/base/time.hpp"

#include <catch2/catch.hpp>

namespace xdc {

TEST_CASE("adding to a deadline that never comes keeps it so") {
  CHECK(kNoDeadline + seconds(1) == kNoDeadline);
  CHECK(TimePoint{5} + nanoseconds(7) == TimePoint{12});
}

TEST_CASE("seconds become the nearest nanosecond, a half goes up") {
  CHECK(from_seconds(0.014) == milliseconds(14));
  CHECK(from_seconds(1.5e-9).ns == 2);
  CHECK(from_seconds(0).ns == 0);
}

}  // namespace xdc
