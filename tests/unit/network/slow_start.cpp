#include "core/network/slow_start.hpp"

#include <catch2/catch.hpp>

namespace xdc {
namespace {

// 1 Gbps, 30 ms there and back, one stream of 1538-byte segments: 15380 bytes, 123.04 us on the line, in the first window.
TcpPath gigabit() {
  TcpPath path;
  path.segment_bytes = 1448;
  path.round_trip = milliseconds(30);
  path.free_rate = 125e6;
  path.initial_window = 15'380;
  path.restart_after = milliseconds(230);
  return path;
}

int64_t cold_stall_ns(const TcpPath& path, int64_t bytes) { return SlowStart().stall(path, TimePoint{5}, bytes).ns; }

// A connection that has sent `bytes` as its first message at time 0.
SlowStart after(const TcpPath& path, int64_t bytes) {
  SlowStart connection;
  (void)connection.stall(path, TimePoint{0}, bytes);
  return connection;
}

}  // namespace

TEST_CASE("a first message waits a round trip, less the time of sending, after each window that it needs") {
  const auto path = gigabit();
  CHECK(cold_stall_ns(path, 1) == 0);
  CHECK(cold_stall_ns(path, 15'380) == 0);
  CHECK(cold_stall_ns(path, 15'381) == 30'000'000 - 123'040);
  CHECK(cold_stall_ns(path, 3 * 15'380) == 30'000'000 - 123'040);
  CHECK(cold_stall_ns(path, 3 * 15'380 + 1) == 2 * 30'000'000 - 3 * 123'040);
  CHECK(cold_stall_ns(path, 7 * 15'380 + 1) == 3 * 30'000'000 - 7 * 123'040);
}

TEST_CASE("the ramp ends when a window fills the round trip") {
  // 3.75 MB are under way at full rate: windows 0 to 7 are smaller.
  CHECK(cold_stall_ns(gigabit(), int64_t{1} << 40) == 8 * 30'000'000 - 255 * 123'040);
  CHECK(cold_stall_ns(gigabit(), 255 * 15'380) == 7 * 30'000'000 - 127 * 123'040);
  CHECK(cold_stall_ns(gigabit(), 255 * 15'380 + 1) == 8 * 30'000'000 - 255 * 123'040);
}

TEST_CASE("parallel streams and a smaller rate shorten the ramp") {
  auto path = gigabit();
  path.initial_window = 4 * 15'380;
  CHECK(cold_stall_ns(path, int64_t{1} << 40) == 6 * 30'000'000 - 63 * 4 * 123'040);
  path.free_rate = 1e6;  // 30 kB under way
  path.initial_window = 15'380;
  CHECK(cold_stall_ns(path, int64_t{1} << 40) == 30'000'000 - 15'380'000);
  path.initial_window = 30'000;
  CHECK(cold_stall_ns(path, int64_t{1} << 40) == 0);
  path.round_trip = {};
  path.initial_window = 15'380;
  CHECK(cold_stall_ns(path, int64_t{1} << 40) == 0);
}

TEST_CASE("a message continues in the window that the last one left open") {
  const auto path = gigabit();
  // 4620 bytes of the second window, of 30760, which is acknowledged at 60 ms.
  auto connection = after(path, 20'000);
  CHECK(connection.stall(path, TimePoint{40'000'000}, 10'000).ns == 0);
  // 16140 bytes are left, 129.12 us; then it waits until 60 ms and has 61520.
  CHECK(connection.stall(path, TimePoint{50'000'000}, 20'000).ns == 10'000'000 - 129'120);
  CHECK(connection.stall(path, TimePoint{61'000'000}, 61'520 - 3'860).ns == 0);
}

TEST_CASE("what was acknowledged meanwhile has made the window larger and costs no wait") {
  const auto path = gigabit();
  auto connection = after(path, 20'000);
  CHECK(connection.stall(path, TimePoint{60'000'000}, 30'760 + 4'620).ns == 0);
  auto late = after(path, 20'000);
  CHECK(late.stall(path, TimePoint{60'000'000}, 30'760 + 4'621).ns == 30'000'000 - (30'760 + 4'620) * 8);
}

TEST_CASE("a connection at speed stays so until it was idle for longer than its retransmission time-out") {
  const auto path = gigabit();
  const int64_t big = int64_t{1} << 30;
  auto connection = after(path, big);
  connection.sent(TimePoint{9'000'000'000});
  CHECK(connection.stall(path, TimePoint{9'230'000'000}, big).ns == 0);
  connection.sent(TimePoint{20'000'000'000});
  CHECK(connection.stall(path, TimePoint{20'230'000'001}, big).ns == 8 * 30'000'000 - 255 * 123'040);
}

}  // namespace xdc
