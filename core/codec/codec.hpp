// How many bytes does a tensor take on a line, and by what name does a user ask for it? The arithmetic is Kernels::encode and
// Kernels::decode: it runs where the tensor is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/config/table_reader.hpp"
#include "core/report/run_report.hpp"
#include "core/seam/codec_spec.hpp"
#include "core/seam/device.hpp"

namespace xdc {

// none 4n; fp16, bf16 2n; int8 n + 4 ceil(n/256); top_k 8 k with k = max(1, ceil(density n)), so that a tensor in pieces takes
// what its pieces take, which for top_k alone is another sum. Requires n >= 0.
int64_t encoded_bytes(const CodecSpec& codec, int64_t n);

const char* codec_name(CodecKind kind);

// Every choice, also those that were defaults: {"kind", "int8"}, {"rounding", "nearest"}, {"error_feedback", true}.
Description describe_codec(const CodecSpec& codec);

// A codec sits on a tier: `lan` inside a datacenter, `wan` between datacenters.
struct TierCodecs {
  CodecSpec lan, wan;
  const CodecSpec& of(Tier tier) const { return tier == Tier::lan ? lan : wan; }
};

// Reads `codec = { wan = { kind = "int8", rounding = "stochastic" }, lan = { kind = "none" } }`; a tier that is absent is none.
TierCodecs read_codecs(TableReader& table);

// Modelled cost of encoding or decoding n elements: memory traffic alone.
Cost encode_cost(const CodecSpec& codec, int64_t n);
Cost decode_cost(const CodecSpec& codec, int64_t n);

}  // namespace xdc
