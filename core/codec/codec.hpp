// How many bytes does a tensor take on a line, and by what name does a user ask for it? The arithmetic is Kernels::encode and
// Kernels::decode: it runs where the tensor is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/config/table_reader.hpp"
#include "core/seam/kernels.hpp"

namespace xdc {

// none 4n, fp16 2n. Requires n >= 0.
int64_t encoded_bytes(const CodecSpec& codec, int64_t n);

const char* codec_name(CodecKind kind);

// A codec sits on a tier: `lan` inside a datacenter, `wan` between datacenters.
struct TierCodecs {
  CodecSpec lan, wan;
};

// Reads `codec = { wan = { kind = "fp16" }, lan = { kind = "none" } }`; what is absent is none.
TierCodecs read_codecs(TableReader& table);

// Modelled cost of encoding or decoding n elements: memory traffic alone.
Cost codec_cost(const CodecSpec& codec, int64_t n);

}  // namespace xdc
