// How does a CPU encode and decode a tensor? Block by block of 256 elements with core/math/codec_arithmetic; fp16 with F16C where
// the processor has it. core/seam/codec_spec.hpp says what the wire looks like.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/result.hpp"
#include "core/seam/codec_spec.hpp"

namespace xdc {

// What error feedback reads and writes; both empty without it. They do not overlap.
struct Feedback {
  std::span<const float> before;
  std::span<float> after;
};

// wire = encoded x + before; after = what that lost. Sizes are the caller's to check.
void encode_fp16(std::span<const float> x, Feedback feedback, std::byte* wire);
void encode_bf16(std::span<const float> x, Feedback feedback, std::byte* wire);
void encode_int8(std::span<const float> x, Feedback feedback, Rounding rounding, const RoundingKey& key, int64_t first_element,
                 std::byte* wire);
// The k largest of x + before. Requires 0 < k <= x.size() unless x is empty.
void encode_top_k(std::span<const float> x, Feedback feedback, int64_t k, std::byte* wire);

void decode_fp16(const std::byte* wire, std::span<float> x);
void decode_bf16(const std::byte* wire, std::span<float> x);
void decode_int8(const std::byte* wire, std::span<float> x);
// Errors: failed, when a place lies outside or does not ascend.
Status decode_top_k(const std::byte* wire, int64_t k, std::span<float> x);

}  // namespace xdc
