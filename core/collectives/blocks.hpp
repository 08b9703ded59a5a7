// How is the flat parameter buffer cut? In blocks of 256 elements at global multiples of 256, dealt evenly, the remainder one
// block each to the first parts; the buffer's last block may be short. Buckets, shards, lanes and chunks are all cut by this.
#pragma once

#include <cstdint>
#include <vector>

namespace xdc {

inline constexpr int64_t kBlock = 256;

// Elements [begin, begin + count) of the flat buffer; begin is a multiple of kBlock.
struct Range {
  int64_t begin = 0;
  int64_t count = 0;
  int64_t end() const { return begin + count; }
  friend bool operator==(Range, Range) = default;
};

// Cuts `whole` into `parts` ranges in order; with fewer blocks than parts the last ones are empty. Requires parts > 0 and
// whole.begin % kBlock == 0.
std::vector<Range> deal(Range whole, int parts);

// The common part, empty (count 0, at a's begin) if there is none.
Range intersection(Range a, Range b);

// Gradient buckets in the order in which backward finishes them: from the end of the buffer to its beginning.
// As many as the model needs at `bucket_bytes` of f32 each, dealt evenly. Requires parameters > 0, bucket_bytes > 0.
std::vector<Range> plan_buckets(int64_t parameters, int64_t bucket_bytes);

// 25 MB or 1/16 of the model, whichever is larger.
int64_t default_bucket_bytes(int64_t parameters);

}  // namespace xdc
