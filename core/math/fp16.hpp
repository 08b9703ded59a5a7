// How is an f32 written as an IEEE 754 binary16 and back? Round to nearest, ties to even; beyond 65,504 + 16 to infinity;
// denormals are kept; a NaN stays a NaN, quiet, with the high bits of its payload. Processors with F16C use it: same bits.
#pragma once

#include <cstdint>
#include <span>

namespace xdc {

uint16_t half_from_float(float x);
float float_from_half(uint16_t h);

// out[i] = in[i], element by element. Requires equal sizes. Neither needs alignment beyond its type's.
void halves_from_floats(std::span<const float> in, std::span<uint16_t> out);
void floats_from_halves(std::span<const uint16_t> in, std::span<float> out);

// The same without F16C, for the test that both agree.
void halves_from_floats_portable(std::span<const float> in, std::span<uint16_t> out);
void floats_from_halves_portable(std::span<const uint16_t> in, std::span<float> out);

}  // namespace xdc
