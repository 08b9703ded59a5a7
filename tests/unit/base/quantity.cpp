#include "core/base/quantity.hpp"

#include <catch2/catch.hpp>

namespace xdc {
namespace {

using Catch::Contains;

TEST_CASE("bandwidths are read in bits and in bytes per second") {
  CHECK(parse_bandwidth("10 Gbps").value() == 1.25e9);
  CHECK(parse_bandwidth("8bps").value() == 1);
  CHECK(parse_bandwidth("  1.5   GB/s ").value() == 1.5e9);
  CHECK(parse_bandwidth("100 Mbps").value() == 12.5e6);
  CHECK(parse_bandwidth("0 bps").value() == 0);
}

TEST_CASE("durations are whole nanoseconds, rounded to the nearest") {
  CHECK(parse_duration("14 ms").value() == milliseconds(14));
  CHECK(parse_duration("5 us").value().ns == 5000);
  CHECK(parse_duration("5 µs").value().ns == 5000);
  CHECK(parse_duration("1.5 min").value() == seconds(90));
  CHECK(parse_duration("0 s").value().ns == 0);
  CHECK(parse_duration("0.1 us").value().ns == 100);
  CHECK(parse_duration("2 h").value() == seconds(7200));
}

TEST_CASE("sizes are whole bytes, in powers of ten and of two") {
  CHECK(parse_bytes("64 KB").value() == 64000);
  CHECK(parse_bytes("64 KiB").value() == 65536);
  CHECK(parse_bytes("1.005 GB").value() == 1005000000);
  CHECK(parse_bytes("1.3GB").value() == 1300000000);
  CHECK(parse_bytes("0 B").value() == 0);
  CHECK_THAT(parse_bytes("0.5 B").error().message, Contains("whole number of bytes"));
  CHECK_THAT(parse_bytes("1.0000005 kB").error().message, Contains("whole number of bytes"));
}

TEST_CASE("a quantity without its unit names the units") {
  CHECK_THAT(parse_bandwidth("10").error().message, Contains("unit is missing") && Contains("Gbps"));
  CHECK_THAT(parse_duration("10").error().message, Contains("unit is missing") && Contains("ms"));
}

TEST_CASE("a mistyped unit offers the nearest") {
  CHECK_THAT(parse_bandwidth("10 Gbs").error().message, Contains("did you mean \"Gbps\""));
  CHECK_THAT(parse_bandwidth("10 gbps").error().message, Contains("did you mean \"Gbps\""));
  CHECK_THAT(parse_duration("10 msec").error().message, Contains("did you mean \"ms\"") || Contains("unknown unit"));
  CHECK_THAT(parse_bytes("10 parsecs").error().message, Contains("unknown unit"));
}

TEST_CASE("numbers that are none, negative or beyond double are refused") {
  for (const auto* text :
       {"", " ", "Gbps", "nan Gbps", "inf Gbps", "-1 Gbps", "1e400 Gbps", "1e308 TB/s", "1,5 Gbps", "0x10 Gbps", "1 2 Gbps"}) {
    INFO(text);
    REQUIRE_FALSE(parse_bandwidth(text).ok());
    CHECK(parse_bandwidth(text).error().code == ErrorCode::invalid);
  }
  CHECK_FALSE(parse_duration("300 years").ok());
  CHECK_FALSE(parse_duration("1e10 h").ok());
  CHECK_FALSE(parse_duration("0.2 ns").ok());
  CHECK_FALSE(parse_bytes("1e20 B").ok());
}

TEST_CASE("quantities are written with three digits and the unit a reader would choose") {
  CHECK(format_seconds(0.0142) == "14.2 ms");
  CHECK(format_seconds(0) == "0 s");
  CHECK(format_seconds(1) == "1 s");
  CHECK(format_seconds(0.9999) == "1 s");
  CHECK(format_seconds(75.26) == "75.3 s");
  CHECK(format_seconds(7200) == "2 h");
  CHECK(format_duration(nanoseconds(1)) == "1 ns");
  CHECK(format_bytes(1.25e9) == "1.25 GB");
  CHECK(format_bytes(999.9e3) == "1 MB");
  CHECK(format_bytes(0) == "0 B");
  CHECK(format_bytes(340) == "340 B");
  CHECK(format_bandwidth(1.25e8) == "1 Gbps");
}

TEST_CASE("rates of arithmetic are read") {
  CHECK(parse_flops("14 TFLOPS").value() == 14e12);
  CHECK_FALSE(parse_flops("14 TB").ok());
}

}  // namespace
}  // namespace xdc
