#include "core/codec/codec.hpp"

#include "core/base/check.hpp"

namespace xdc {
namespace {

constexpr CodecKind kKinds[] = {CodecKind::none, CodecKind::fp16, CodecKind::bf16, CodecKind::int8, CodecKind::top_k};
constexpr double kLeastDensity = 1e-9;

std::vector<std::string> codec_names() {
  std::vector<std::string> names;
  for (const CodecKind kind : kKinds) {
    names.emplace_back(codec_name(kind));
  }
  return names;
}

// Half precision loses so little that feeding it back is a choice; int8 and top-k do not train well without.
bool feeds_back_by_default(CodecKind kind) { return kind == CodecKind::int8 || kind == CodecKind::top_k; }

CodecSpec read_codec(TableReader& tiers, const char* tier) {
  const Value* value = tiers.table(tier);
  if (value == nullptr) {
    return {};
  }
  TableReader table(*value, tiers.path_of(tier), tiers.diagnostics());
  const auto name = table.required_one_of("kind", codec_names());
  CodecSpec codec;
  for (const CodecKind kind : kKinds) {
    codec.kind = name == codec_name(kind) ? kind : codec.kind;
  }
  if (codec.kind == CodecKind::int8) {
    codec.rounding =
        table.one_of("rounding", {"nearest", "stochastic"}, "nearest") == "stochastic" ? Rounding::stochastic : Rounding::nearest;
  }
  if (codec.kind == CodecKind::top_k) {
    const auto density = table.optional_number("density", kLeastDensity, 1);
    if (!table.has("density")) {
      table.error("density", "is required: which part of the elements is sent, 0.01 for one in a hundred");
    }
    codec.density = density.value_or(1);
  }
  codec.error_feedback = table.boolean("error_feedback", feeds_back_by_default(codec.kind));
  if (codec.error_feedback && codec.kind == CodecKind::none) {
    table.error("error_feedback", "has nothing to feed back: codec \"none\" loses nothing; remove it, or choose a codec that does");
  }
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
    case CodecKind::bf16:
      return 2 * n;
    case CodecKind::int8:
      return n + 4 * ((n + kCodecBlock - 1) / kCodecBlock);
    case CodecKind::top_k:
      return 8 * top_k_count(codec.density, n);
  }
  XDC_CHECK_MSG(false, "unknown codec");
}

const char* codec_name(CodecKind kind) {
  switch (kind) {
    case CodecKind::none:
      return "none";
    case CodecKind::fp16:
      return "fp16";
    case CodecKind::bf16:
      return "bf16";
    case CodecKind::int8:
      return "int8";
    case CodecKind::top_k:
      return "top_k";
  }
  return "unknown";
}

Description describe_codec(const CodecSpec& codec) {
  Description description{{"kind", std::string(codec_name(codec.kind))}};
  if (codec.kind == CodecKind::int8) {
    description.emplace_back("rounding", std::string(codec.rounding == Rounding::stochastic ? "stochastic" : "nearest"));
  }
  if (codec.kind == CodecKind::top_k) {
    description.emplace_back("density", codec.density);
  }
  if (codec.kind != CodecKind::none) {
    description.emplace_back("error_feedback", codec.error_feedback);
  }
  return description;
}

TierCodecs read_codecs(TableReader& table) {
  TierCodecs codecs;
  codecs.lan = read_codec(table, "lan");
  codecs.wan = read_codec(table, "wan");
  return codecs;
}

// Read the tensor, write the wire; with error feedback read and write residuals as well. Top-k reads the tensor twice more for
// the lower digits of its threshold, and once more to take what is above.
Cost encode_cost(const CodecSpec& codec, int64_t n) {
  const int64_t passes = 1 + (codec.error_feedback ? 2 : 0) + (codec.kind == CodecKind::top_k ? 3 : 0);
  return {0, static_cast<double>(4 * n * passes + encoded_bytes(codec, n))};
}

Cost decode_cost(const CodecSpec& codec, int64_t n) { return {0, static_cast<double>(4 * n + encoded_bytes(codec, n))}; }

}  // namespace xdc
