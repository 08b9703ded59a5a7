// What does "10 Gbps" mean? Text with a mandatory unit to SI numbers and back.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.hpp"
#include "core/base/time.hpp"

namespace xdc {

// Bits per second -> bytes per second. Units: bps, kbps, Mbps, Gbps, Tbps (powers of ten), B/s, kB/s, MB/s, GB/s, TB/s.
Result<double> parse_bandwidth(std::string_view text);
// Units: ns, us (also "µs"), ms, s, min, h. At least 0.
Result<Duration> parse_duration(std::string_view text);
// Units: B, kB (also KB), MB, GB, TB (powers of ten), KiB, MiB, GiB, TiB (powers of two). At least 0, whole bytes.
Result<int64_t> parse_bytes(std::string_view text);
// Units: FLOPS, GFLOPS, TFLOPS, PFLOPS -> floating-point operations per second.
Result<double> parse_flops(std::string_view text);

// Three significant digits and the unit a reader would choose: "14.2 ms", "1.25 GB", "1 Gbps".
std::string format_duration(Duration d);
std::string format_seconds(double seconds);
std::string format_bytes(double bytes);
std::string format_bandwidth(double bytes_per_second);

}  // namespace xdc
