// What should come out of a codec? Its description in core/seam/codec_spec.hpp, once more, slowly, sharing nothing with the kernels.
#pragma once

#include <cstdint>
#include <vector>

#include "core/seam/codec_spec.hpp"

namespace xdc {

// decode(encode(p)); p[0] is element `first_element` of the flat buffer.
std::vector<float> reference_round_trip(const CodecSpec& codec, const std::vector<float>& p, const RoundingKey& key, int64_t first_element);

// residual + p - decode(encode(residual + p)), and what it was where that is not finite. Returns what is decoded.
std::vector<float> reference_feedback(const CodecSpec& codec, const std::vector<float>& p, const RoundingKey& key, int64_t first_element,
                                      std::vector<float>& residual);

int64_t reference_top_k_count(double density, int64_t n);

}  // namespace xdc
