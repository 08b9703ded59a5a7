// Does a scenario's codec become what its writer meant, how many bytes does it take, and does a wrong one say what is wrong?
#include "core/codec/codec.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "core/config/toml_reader.hpp"

namespace xdc {
namespace {

struct Read {
  TierCodecs codecs;
  Diagnostics diagnostics;
};

// `text`: the codec's table, as lines of TOML.
Read read(const std::string& text) {
  Read result;
  const auto value = parse_toml(text, "test.toml", result.diagnostics);
  REQUIRE(value.has_value());
  TableReader reader(*value, "codec", result.diagnostics);
  result.codecs = read_codecs(reader);
  reader.finish();
  return result;
}

CodecSpec wan(const std::string& text) {
  const Read result = read("wan = " + text);
  CHECK(result.diagnostics.text().empty());
  CHECK(result.codecs.lan == CodecSpec{});
  return result.codecs.wan;
}

std::string errors(const std::string& text) { return read("wan = " + text).diagnostics.text(); }

TEST_CASE("Every key of every codec is read, and what is left out has a default") {
  CHECK(wan("{ kind = 'none' }") == CodecSpec{});
  CHECK(wan("{ kind = 'none', error_feedback = false }") == CodecSpec{});
  CHECK(wan("{ kind = 'fp16' }") == CodecSpec{CodecKind::fp16});
  CHECK(wan("{ kind = 'bf16', error_feedback = true }") == CodecSpec{CodecKind::bf16, Rounding::nearest, 0, true});
  CHECK(wan("{ kind = 'int8' }") == CodecSpec{CodecKind::int8, Rounding::nearest, 0, true});
  CHECK(wan("{ kind = 'int8', rounding = 'stochastic', error_feedback = false }") ==
        CodecSpec{CodecKind::int8, Rounding::stochastic, 0, false});
  CHECK(wan("{ kind = 'top_k', density = 0.01 }") == CodecSpec{CodecKind::top_k, Rounding::nearest, 0.01, true});
  CHECK(wan("{ kind = 'top_k', density = 1, error_feedback = false }") == CodecSpec{CodecKind::top_k, Rounding::nearest, 1, false});
  CHECK(read("lan = { kind = 'fp16' }").codecs.lan.kind == CodecKind::fp16);
}

TEST_CASE("What makes no sense for a codec is an error that says so") {
  using Catch::Contains;
  CHECK_THAT(errors("{ kind = 'int4' }"), Contains("codec.wan.kind") && Contains("bf16") && Contains("top_k"));
  CHECK_THAT(errors("{ kind = 'topk' }"), Contains("did you mean \"top_k\"?"));
  CHECK_THAT(errors("{ kind = 'none', error_feedback = true }"), Contains("codec.wan.error_feedback") && Contains("loses nothing"));
  CHECK_THAT(errors("{ kind = 'top_k' }"), Contains("codec.wan.density") && Contains("is required"));
  CHECK_THAT(errors("{ kind = 'top_k', density = 0 }"), Contains("codec.wan.density") && Contains("out of range"));
  CHECK_THAT(errors("{ kind = 'top_k', density = 1.5 }"), Contains("out of range"));
  CHECK_THAT(errors("{ kind = 'top_k', density = nan }"), Contains("codec.wan.density"));
  CHECK_THAT(errors("{ kind = 'top_k', density = '1 %' }"), Contains("codec.wan.density"));
  CHECK_THAT(errors("{ kind = 'int8', rounding = 'up' }"), Contains("nearest") && Contains("stochastic"));
  CHECK_THAT(errors("{ kind = 'int8', density = 0.1 }"), Contains("density"));
  CHECK_THAT(errors("{ kind = 'fp16', rounding = 'nearest' }"), Contains("rounding"));
  CHECK_THAT(errors("{ kind = 'int8', error_feedback = 'yes' }"), Contains("error_feedback"));
}

TEST_CASE("A report shows every choice") {
  using D = Description;
  CHECK(describe_codec({}) == D{{"kind", std::string("none")}});
  CHECK(describe_codec(wan("{ kind = 'int8' }")) ==
        D{{"kind", std::string("int8")}, {"rounding", std::string("nearest")}, {"error_feedback", true}});
  CHECK(describe_codec(wan("{ kind = 'top_k', density = 0.25, error_feedback = false }")) ==
        D{{"kind", std::string("top_k")}, {"density", 0.25}, {"error_feedback", false}});
  CHECK(describe_codec(wan("{ kind = 'fp16' }")) == D{{"kind", std::string("fp16")}, {"error_feedback", false}});
}

TEST_CASE("Bytes on the line are those of the formula") {
  const CodecSpec int8{CodecKind::int8}, one_percent{CodecKind::top_k, Rounding::nearest, 0.01};
  CHECK(encoded_bytes({}, 1000) == 4000);
  CHECK(encoded_bytes({CodecKind::fp16}, 1001) == 2002);
  CHECK(encoded_bytes({CodecKind::bf16}, 1001) == 2002);
  CHECK(encoded_bytes(int8, 0) == 0);
  CHECK(encoded_bytes(int8, 1) == 5);
  CHECK(encoded_bytes(int8, 256) == 260);
  CHECK(encoded_bytes(int8, 257) == 257 + 8);
  CHECK(encoded_bytes(one_percent, 0) == 0);
  CHECK(encoded_bytes(one_percent, 1) == 8);
  CHECK(encoded_bytes(one_percent, 100) == 8);
  CHECK(encoded_bytes(one_percent, 101) == 16);
  CHECK(encoded_bytes(one_percent, 13'000'000'000) == 8 * 130'000'000LL);
}

TEST_CASE("Pieces cut at blocks take as many int8 bytes as the whole") {
  const CodecSpec int8{CodecKind::int8};
  for (const int64_t n : {700, 768, 5001, 61'706}) {
    int64_t pieces = 0;
    for (int64_t at = 0; at < n; at += 512) {
      pieces += encoded_bytes(int8, std::min<int64_t>(512, n - at));
    }
    CHECK(pieces == encoded_bytes(int8, n));
  }
}

TEST_CASE("A part that is whole but for its decimal fraction is whole") {
  for (int percent = 1; percent <= 100; ++percent) {
    for (const int64_t n : {100, 25'600, 1'000'000, 100'000'000}) {
      CHECK(top_k_count(percent / 100.0, n) == percent * n / 100);
    }
    CHECK(top_k_count(percent / 100.0, 101) == (percent * 101 + 99) / 100);
  }
  CHECK(top_k_count(1e-9, 1000) == 1);
  CHECK(top_k_count(1, 1000) == 1000);
  CHECK(top_k_count(0.5, 0) == 0);
}

TEST_CASE("An encoding costs the memory that it reads and writes") {
  CHECK(encode_cost({CodecKind::fp16}, 100).bytes == 4 * 100 + 2 * 100);
  CHECK(decode_cost({CodecKind::fp16}, 100).bytes == 4 * 100 + 2 * 100);
  CHECK(encode_cost({CodecKind::int8, Rounding::nearest, 0, true}, 256).bytes == 3 * 4 * 256 + 260);
  CHECK(encode_cost({CodecKind::top_k, Rounding::nearest, 0.5, false}, 100).bytes == 4 * 4 * 100 + 8 * 50);
  CHECK(encode_cost({CodecKind::top_k, Rounding::nearest, 0.5, true}, 100).bytes == 6 * 4 * 100 + 8 * 50);
}

}  // namespace
}  // namespace xdc
