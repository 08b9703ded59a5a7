#include "core/collectives/blocks.hpp"

#include <algorithm>

#include "core/base/check.hpp"

namespace xdc {

std::vector<Range> deal(Range whole, int parts) {
  XDC_CHECK(parts > 0 && whole.begin % kBlock == 0 && whole.count >= 0);
  const int64_t blocks = (whole.count + kBlock - 1) / kBlock;
  std::vector<Range> dealt;
  dealt.reserve(static_cast<size_t>(parts));
  int64_t at = whole.begin;
  for (int i = 0; i < parts; ++i) {
    const int64_t mine = blocks / parts + (i < blocks % parts ? 1 : 0);
    // An empty part stands at the beginning: behind the short last block nothing is aligned.
    dealt.push_back(mine == 0 ? Range{whole.begin, 0} : Range{at, std::min(mine * kBlock, whole.end() - at)});
    at += mine * kBlock;
  }
  return dealt;
}

Range intersection(Range a, Range b) {
  const int64_t begin = std::max(a.begin, b.begin);
  const int64_t end = std::min(a.end(), b.end());
  return end > begin ? Range{begin, end - begin} : Range{a.begin, 0};
}

std::vector<Range> plan_buckets(int64_t parameters, int64_t bucket_bytes) {
  XDC_CHECK(parameters > 0 && bucket_bytes > 0);
  const int64_t blocks = (parameters + kBlock - 1) / kBlock;
  const int64_t wanted = (parameters * 4 + bucket_bytes - 1) / bucket_bytes;
  auto buckets = deal({0, parameters}, static_cast<int>(std::min(wanted, blocks)));
  std::reverse(buckets.begin(), buckets.end());
  return buckets;
}

int64_t default_bucket_bytes(int64_t parameters) { return std::max<int64_t>(25'000'000, (parameters * 4 + 15) / 16); }

}  // namespace xdc
