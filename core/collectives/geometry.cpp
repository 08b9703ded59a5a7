#include "core/collectives/geometry.hpp"

#include <algorithm>

#include "core/base/check.hpp"

namespace xdc {
namespace {

// Products of two numbers of blocks stay below 2^62.
constexpr int64_t kMostReal = int64_t{1} << 34, kMostPlanned = int64_t{1} << 44;

int64_t blocks(int64_t elements) { return (elements + kBlock - 1) / kBlock; }

}  // namespace

Geometry::Geometry(int64_t planned, int64_t real, bool counts_planned) : planned_(planned), real_(real), counts_planned_(counts_planned) {
  XDC_CHECK(planned > 0 && real > 0);
  XDC_CHECK(planned == real || (real < kMostReal && planned < kMostPlanned));
}

int64_t Geometry::boundary(int64_t planned) const {
  XDC_CHECK(planned >= 0 && planned <= planned_ && (planned % kBlock == 0 || planned == planned_));
  return planned_ == real_ ? planned : std::min(real_, kBlock * (blocks(planned) * blocks(real_) / blocks(planned_)));
}

Range Geometry::real(Range planned) const {
  const int64_t begin = boundary(planned.begin);
  return {begin, boundary(planned.end()) - begin};
}

Tensor Geometry::slice(Tensor flat, Range planned) const {
  const Range range = real(planned);
  return flat.range(range.begin, range.count);
}

Tensor Geometry::slice_of(Tensor part, Range held, Range planned) const {
  const Range range = real(planned);
  return part.range(range.begin - real(held).begin, range.count);
}

int64_t Geometry::wire_bytes(const CodecSpec& codec, Range planned) const {
  return encoded_bytes(codec, counts_planned_ ? planned.count : real(planned).count);
}

}  // namespace xdc
