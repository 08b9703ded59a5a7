// Do clock, lanes, device and event lines of a real machine keep the seam's promises?
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <limits>

#include "core/math/cpu_kernels.hpp"
#include "core/math/null_kernels.hpp"
#include "exec/host/cpu_device.hpp"
#include "exec/host/json_trace.hpp"
#include "exec/host/rehearsal_device.hpp"
#include "exec/host/thread_lanes.hpp"

// Sanitizers end the program at an impossible allocation unless told that it is expected.
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }
extern "C" const char* __tsan_default_options() { return "allocator_may_return_null=1"; }

namespace xdc {

TEST_CASE("a clock counts from its origin and does not wake early", "[exec]") {
  SteadyClock clock;
  SteadyClock same(clock.origin_ns());
  const TimePoint start = clock.now();
  REQUIRE(start.ns < seconds(10).ns);
  clock.sleep_until(start + milliseconds(20));
  REQUIRE(clock.now() >= start + milliseconds(20));
  REQUIRE(same.now() >= start + milliseconds(20));
  clock.sleep_until(start);  // past: at once
}

TEST_CASE("a signal counts its posts and a wait that finds none times out at its deadline", "[exec]") {
  SteadyClock clock;
  ThreadLanes lanes(clock);
  const auto signal = lanes.make_signal();
  signal->post();
  signal->post();
  REQUIRE(signal->wait({0}).ok());  // a post wins over a passed deadline
  REQUIRE(signal->wait(kNoDeadline).ok());
  const TimePoint deadline = clock.now() + milliseconds(30);
  const Status late = signal->wait(deadline);
  REQUIRE(!late.ok());
  REQUIRE(late.error().code == ErrorCode::timeout);
  REQUIRE(clock.now() >= deadline);
  REQUIRE(clock.now() < deadline + seconds(10));
}

TEST_CASE("what a lane wrote before a post is seen after the wait", "[exec]") {
  SteadyClock clock;
  ThreadLanes lanes(clock);
  const auto signal = lanes.make_signal();
  int written = 0;
  const auto lane = lanes.spawn("a lane with a name longer than the kernel keeps", [&] {
    written = 42;
    signal->post();
  });
  REQUIRE(signal->wait(clock.now() + seconds(10)).ok());
  REQUIRE(written == 42);
  lane->join();
}

TEST_CASE("memory is aligned, zero and tagged with its space", "[exec]") {
  CpuKernels kernels;
  CpuDevice device("cpu", kernels);
  for (const Space space : {Space::host, Space::pinned, Space::device}) {
    for (const size_t size : {size_t{0}, size_t{1}, size_t{64}, size_t{1000}}) {
      const auto buffer = device.allocate(space, size);
      REQUIRE(buffer.ok());
      const Bytes bytes = buffer.value()->bytes();
      REQUIRE(bytes.space == space);
      REQUIRE(bytes.size == size);
      REQUIRE(!bytes.phantom());
      REQUIRE(reinterpret_cast<uintptr_t>(bytes.data) % 64 == 0);
      for (size_t i = 0; i < size; ++i) {
        REQUIRE(bytes.data[i] == std::byte{0});
      }
    }
  }
}

TEST_CASE("memory that cannot be had is an error that says how much", "[exec]") {
  CpuKernels kernels;
  CpuDevice device("cpu", kernels);
  const auto some = device.allocate(Space::host, 1000);
  for (const size_t size : {std::numeric_limits<size_t>::max(), std::numeric_limits<size_t>::max() / 2}) {
    const auto buffer = device.allocate(Space::device, size);
    REQUIRE(!buffer.ok());
    REQUIRE(buffer.error().code == ErrorCode::failed);
    REQUIRE(buffer.error().message.find(std::to_string(size)) != std::string::npos);
    REQUIRE(buffer.error().message.find("1000 bytes are in use") != std::string::npos);
  }
}

TEST_CASE("a device copies, clears and reads scalars, and its events are done at once", "[exec]") {
  CpuKernels kernels;
  CpuDevice device("cpu", kernels);
  const Stream stream = device.make_stream("main");
  const Stream other = device.make_stream("other");
  const auto a = device.allocate(Space::host, 4).value();
  const auto b = device.allocate(Space::device, 4).value();
  const float value = 1.5F;
  std::memcpy(a->bytes().data, &value, sizeof value);
  device.copy(stream, b->bytes(), a->bytes());
  const Event event = device.record(stream);
  device.stream_wait(other, event);
  REQUIRE(device.wait(event, {0}).ok());
  REQUIRE(device.read_scalar(other, Tensor::flat(b->bytes(), DType::f32, 1)) == 1.5F);
  device.charge(stream, {1e9, 1e9});
  device.clear(stream, b->bytes());
  REQUIRE(device.read_scalar(stream, Tensor::flat(b->bytes(), DType::f32, 1)) == 0.0F);
}

TEST_CASE("a rehearsal's device takes the time that is charged and no memory, streams side by side", "[exec]") {
  SteadyClock clock;
  NullKernels kernels;
  RehearsalDevice device({"slow", 1e9, 1e9, true}, clock, kernels);
  const auto huge = device.allocate(Space::device, size_t{1} << 45).value();
  REQUIRE(huge->bytes().phantom());
  const Stream first = device.make_stream("first"), second = device.make_stream("second");
  const TimePoint start = clock.now();
  device.charge(first, {20e6, 1e6});  // 20 ms, by its operations
  device.charge(first, {1e6, 30e6});  // and 30 ms, by its bytes
  device.charge(second, {50e6, 0});
  REQUIRE(device.wait(device.record(first), start + milliseconds(5)).error().code == ErrorCode::timeout);
  REQUIRE(device.wait(device.record(first), kNoDeadline).ok());
  REQUIRE(clock.now() - start >= milliseconds(50));
  REQUIRE(device.wait(device.record(second), kNoDeadline).ok());
  REQUIRE(device.read_scalar(first, Tensor::flat(huge->bytes().slice(0, 4), DType::f32, 1)) == std::nullopt);
}

TEST_CASE("a rehearsal that does not wait has done everything at once", "[exec]") {
  SteadyClock clock;
  NullKernels kernels;
  RehearsalDevice device({"slow", 1, 1, false}, clock, kernels);
  const Stream stream = device.make_stream("only");
  device.charge(stream, {1e18, 1e18});
  REQUIRE(device.wait(device.record(stream), clock.now()).ok());
}

TEST_CASE("events are JSON lines and odd text stays inside its quotes", "[exec]") {
  std::array<int, 2> pipe{};
  REQUIRE(::pipe2(pipe.data(), O_CLOEXEC) == 0);
  JsonTrace trace({pipe[1]}, {"ring", "bei\"jing", 3});
  trace.record({12}, 7, "step", {{"loss", 0.5}, {"samples", int64_t{32}}, {"note", std::string_view("a\nb\\")}, {"bad", std::nan("")}});
  std::array<char, 512> text{};
  REQUIRE(::read(pipe[0], text.data(), text.size()) > 0);
  REQUIRE(std::string(text.data()) ==
          "{\"time_ns\":12,\"variant\":\"ring\",\"datacenter\":\"bei\\\"jing\",\"rank\":3,\"step\":7,\"event\":\"step\",\"loss\":0.5,"
          "\"samples\":32,"
          "\"note\":\"a\\u000ab\\\\\",\"bad\":null}\n");
  ::close(pipe[0]);
  ::close(pipe[1]);
}

TEST_CASE("a reader that stops reading stops nobody, and learns how much it missed", "[exec]") {
  std::array<int, 2> pipe{};
  REQUIRE(::pipe2(pipe.data(), O_CLOEXEC) == 0);
  JsonTrace trace({pipe[1]}, {"ring", "beijing", 0});
  for (int i = 0; i < 10'000; ++i) {
    trace.record({i}, i, "step", {});  // far more than a pipe holds
  }
  std::array<char, 65536> text{};
  REQUIRE(::read(pipe[0], text.data(), text.size()) > 0);
  ::fcntl(pipe[0], F_SETFL, O_NONBLOCK);
  while (::read(pipe[0], text.data(), text.size()) > 0) {
  }
  trace.record({1}, 1, "after", {});
  const ssize_t n = ::read(pipe[0], text.data(), text.size());
  REQUIRE(n > 0);
  const std::string line(text.data(), static_cast<size_t>(n));
  REQUIRE(line.find("\"event\":\"after\",\"dropped\":") != std::string::npos);
  ::close(pipe[0]);
  ::close(pipe[1]);
}

TEST_CASE("a disk that is full ends the events and stops nobody, and other outlets go on", "[exec]") {
  std::array<int, 2> pipe{};
  REQUIRE(::pipe2(pipe.data(), O_CLOEXEC) == 0);
  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  REQUIRE(full >= 0);
  JsonTrace trace({full, pipe[1]}, {"ring", "beijing", 0});
  trace.record({1}, 1, "step", {});
  trace.record({2}, 2, "step", {});
  std::array<char, 512> text{};
  const ssize_t n = ::read(pipe[0], text.data(), text.size());
  REQUIRE(n > 0);
  const std::string lines(text.data(), static_cast<size_t>(n));
  REQUIRE(std::count(lines.begin(), lines.end(), '\n') == 2);
  REQUIRE(lines.find("dropped") == std::string::npos);
  ::close(full);
  ::close(pipe[0]);
  ::close(pipe[1]);
}

}  // namespace xdc
