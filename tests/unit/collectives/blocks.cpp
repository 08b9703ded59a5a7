#include "core/collectives/blocks.hpp"

#include <catch2/catch.hpp>

using namespace xdc;

TEST_CASE("parts cover the whole in order, cut at blocks, and differ by one block at most") {
  for (const int64_t count : {0, 1, 255, 256, 257, 1000, 61706, 25600}) {
    for (const int parts : {1, 2, 3, 7, 12, 300}) {
      for (const int64_t begin : {0, 256, 2560}) {
        const auto dealt = deal({begin, count}, parts);
        REQUIRE(dealt.size() == static_cast<size_t>(parts));
        int64_t at = begin, least = count, most = 0;
        for (const Range range : dealt) {
          if (range.count > 0) {
            REQUIRE(range.begin == at);
            at = range.end();
          }
          REQUIRE(range.begin % kBlock == 0);
          least = std::min(least, range.count);
          most = std::max(most, range.count);
        }
        REQUIRE(at == begin + count);
        REQUIRE(most - least < 2 * kBlock);
      }
    }
  }
}

TEST_CASE("the remainder goes to the first parts, and the buffer's last block may be short") {
  const auto dealt = deal({0, 5 * 256 + 10}, 4);
  CHECK(dealt == std::vector<Range>{{0, 512}, {512, 512}, {1024, 256}, {1280, 10}});
}

TEST_CASE("with fewer blocks than parts the last parts are empty") {
  const auto dealt = deal({512, 300}, 4);
  CHECK(dealt[0] == Range{512, 256});
  CHECK(dealt[1] == Range{768, 44});
  CHECK(dealt[2].count == 0);
  CHECK(dealt[3].count == 0);
}

TEST_CASE("buckets run from the end of the buffer to its beginning") {
  const auto buckets = plan_buckets(1000, 2048);
  REQUIRE(buckets.size() == 2);
  CHECK(buckets[0] == Range{512, 488});
  CHECK(buckets[1] == Range{0, 512});
}

TEST_CASE("a model smaller than one bucket is one bucket") { CHECK(plan_buckets(61706, default_bucket_bytes(61706)).size() == 1); }

TEST_CASE("the default bucket is 25 MB, and a sixteenth of models larger than 400 MB") {
  CHECK(default_bucket_bytes(1'000'000) == 25'000'000);
  CHECK(default_bucket_bytes(13'000'000'000) == 3'250'000'000);
  CHECK(plan_buckets(13'000'000'000, default_bucket_bytes(13'000'000'000)).size() == 16);
}

TEST_CASE("an intersection is what both have, or nothing") {
  CHECK(intersection({0, 512}, {256, 512}) == Range{256, 256});
  CHECK(intersection({0, 256}, {256, 256}).count == 0);
}
