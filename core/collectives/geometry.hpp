// Where do the ranges that exchanges compute with lie in the buffer that is really there? With a cost profile, buckets, lanes, shards
// and chunks are cut out of the big model's elements (planned); tensors hold the small one's (real).
//
//   real(x) = min(real, 256 * floor(blocks(x) * B_real / B_planned)),  blocks(x) = ceil(x / 256), B = blocks of a whole buffer
//
// for a boundary x: 0, the end, or a multiple of 256 between. It rises with x, leads 0 to 0 and the end to the end, and gives multiples of
// 256 between: parts that tile the planned buffer tile the real one, and begin where a codec's block does. Without a profile both are the
// same. A real slice may be empty where the planned range is not: its message goes all the same, without contents.
#pragma once

#include <cstdint>

#include "core/codec/codec.hpp"
#include "core/collectives/blocks.hpp"
#include "core/seam/bytes.hpp"

namespace xdc {

class Geometry {
 public:
  Geometry() = default;
  // Both buffers are one.
  explicit Geometry(int64_t elements) : Geometry(elements, elements, true) {}
  // `counts_planned`: a message counts as its planned elements, as a world does that charges a profile; else as the real ones, which a
  // world does that sends them. Requires planned > 0 and real > 0; if they differ, real < 2^34 and planned < 2^44.
  Geometry(int64_t planned, int64_t real, bool counts_planned);

  int64_t planned() const { return planned_; }
  int64_t real() const { return real_; }

  // The real slice of a planned range. Requires that the range begins at a multiple of 256 and ends at one or at the end.
  Range real(Range planned) const;
  // Of a flat tensor over the real buffer.
  Tensor slice(Tensor flat, Range planned) const;
  // Of a tensor that holds the real slice of `held` alone.
  Tensor slice_of(Tensor part, Range held, Range planned) const;

  // What a range counts for on a line, encoded.
  int64_t wire_bytes(const CodecSpec& codec, Range planned) const;

 private:
  int64_t boundary(int64_t planned) const;

  int64_t planned_ = 0, real_ = 0;
  bool counts_planned_ = true;
};

}  // namespace xdc
