#include "core/codec/codec.hpp"

namespace xdc {
namespace {

CodecSpec read_codec(TableReader& tiers, const char* tier) {
  const Value* value = tiers.table(tier);
  if (value == nullptr) {
    return {};
  }
  TableReader table(*value, tiers.path_of(tier), tiers.diagnostics());
  const std::vector<std::string> kinds{codec_name(CodecKind::none), codec_name(CodecKind::fp16)};
  CodecSpec codec;
  codec.kind = table.required_one_of("kind", kinds) == codec_name(CodecKind::fp16) ? CodecKind::fp16 : CodecKind::none;
  table.finish();
  return codec;
}

}  // namespace

int64_t encoded_bytes(const CodecSpec& codec, int64_t n) {
  XDC_CHECK(n >= 0);
  switch (codec.kind) {
    case CodecKind::none:
      return 4 * n;
    case CodecKind::fp16:
      return 2 * n;
  }
  XDC_CHECK_MSG(false, "unknown codec");
}

const char* codec_name(CodecKind kind) {
  switch (kind) {
    case CodecKind::none:
      return "none";
    case CodecKind::fp16:
      return "fp16";
  }
  return "unknown";
}

TierCodecs read_codecs(TableReader& table) {
  TierCodecs codecs;
  codecs.lan = read_codec(table, "lan");
  codecs.wan = read_codec(table, "wan");
  return codecs;
}

Cost codec_cost(const CodecSpec& codec, int64_t n) { return {0, static_cast<double>(4 * n + encoded_bytes(codec, n))}; }

}  // namespace xdc
