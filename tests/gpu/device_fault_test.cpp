// What does the GPU device do when the GPU is slow, broken or not there? On the tests' own CUDA, where that can be arranged.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>

#include "exec/cuda/poll.hpp"
#include "tests/gpu/fake_cuda.hpp"
#include "tests/gpu/gpu_world.hpp"

namespace xdc::gpu_test {
namespace {

struct Fixture {
  Fixture() { fake::reset(); }
  ~Fixture() { fake::hold(false); }
  SteadyClock clock;
};

// A clock that moves only when someone sleeps.
class StepClock final : public Clock {
 public:
  TimePoint now() const override { return now_; }
  void sleep_until(TimePoint t) override {
    slept += t > now_ ? 1 : 0;
    now_ = std::max(now_, t);
  }
  int slept = 0;

 private:
  TimePoint now_;
};

}  // namespace

TEST_CASE("a wait ends with timeout at its deadline, says for what it waited, and the same event can be waited for again") {
  Fixture f;
  MemoryDevice device(0, "beijing rank 3", f.clock);
  const Stream stream = device.make_stream("gradients");
  const auto source = device.allocate(Space::pinned, 8);
  const auto target = device.allocate(Space::device, 8);
  REQUIRE((source.ok() && target.ok()));
  fake::hold(true);
  device.copy(stream, target.value()->bytes(), source.value()->bytes());
  const Event event = device.record(stream);
  const TimePoint begun = f.clock.now();
  const Status waited = device.wait(event, begun + milliseconds(30));
  const Duration took = f.clock.now() - begun;
  REQUIRE_FALSE(waited.ok());
  CHECK(waited.error().code == ErrorCode::timeout);
  CHECK(waited.error().message.find("beijing rank 3") == 0);
  CHECK(waited.error().message.find("stream 'gradients' of GPU 0 (Fake GPU)") != std::string::npos);
  CHECK(took >= milliseconds(30));
  CHECK(took < seconds(5));
  fake::hold(false);
  CHECK(device.wait(event, after(f.clock, seconds(5))).ok());
}

TEST_CASE("a stream held back by an event does not start before it") {
  Fixture f;
  MemoryDevice device(0, "beijing rank 3", f.clock);
  const Stream first = device.make_stream("first");
  const Stream second = device.make_stream("second");
  fake::hold(true);
  bool may_end = false;
  fake::enqueue(device.native_stream(first), [&] { return may_end; });
  const Event event = device.record(first);
  device.stream_wait(second, event);
  const Event behind = device.record(second);
  fake::hold(false);
  CHECK(device.wait(behind, after(f.clock, milliseconds(20))).error().code == ErrorCode::timeout);
  fake::locked([&] { may_end = true; });
  CHECK(device.wait(behind, after(f.clock, seconds(5))).ok());
}

TEST_CASE("CUDA events are reused: ten thousand recorded points need a few") {
  Fixture f;
  MemoryDevice device(0, "beijing rank 3", f.clock);
  const Stream stream = device.make_stream("busy");
  for (int i = 0; i < 10'000; ++i) {
    const Event event = device.record(stream);
    if (i % 10 == 0) {
      REQUIRE(device.wait(event, after(f.clock, seconds(5))).ok());
    }
  }
  CHECK(fake::events_made() <= 11);
}

TEST_CASE("unfinished points are told apart from finished ones whatever the order of asking") {
  Fixture f;
  MemoryDevice device(0, "beijing rank 3", f.clock);
  const Stream stream = device.make_stream("s");
  const Event first = device.record(stream);
  int allowed = 0;
  fake::enqueue(device.native_stream(stream), [&] { return allowed >= 1; });
  const Event second = device.record(stream);
  fake::enqueue(device.native_stream(stream), [&] { return allowed >= 2; });
  const Event third = device.record(stream);
  CHECK_FALSE(device.finished(third).value());
  CHECK_FALSE(device.finished(second).value());
  CHECK(device.finished(first).value());
  fake::locked([&] { allowed = 1; });
  CHECK_FALSE(device.finished(third).value());
  CHECK(device.finished(second).value());
  fake::locked([&] { allowed = 2; });
  CHECK(device.finished(first).value());
  CHECK(device.finished(third).value());
}

TEST_CASE("an error of earlier work is sticky: every later wait, allocation and scalar says so") {
  Fixture f;
  MemoryDevice device(1, "shanghai rank 0", f.clock);
  const Stream stream = device.make_stream("kernels");
  const auto buffer = device.allocate(Space::device, 64);
  REQUIRE(buffer.ok());
  fake::break_device(cudaErrorIllegalAddress);
  device.clear(stream, buffer.value()->bytes());
  for (int i = 0; i < 2; ++i) {
    const Status waited = device.wait(device.record(stream), after(f.clock, seconds(5)));
    REQUIRE_FALSE(waited.ok());
    CHECK(waited.error().code == ErrorCode::failed);
    CHECK(
        waited.error().message ==
        "shanghai rank 0: GPU 1 (Fake GPU): work on stream 'kernels': an illegal memory access was encountered (cudaErrorIllegalAddress)");
  }
  CHECK_FALSE(device.allocate(Space::device, 64).ok());
  CHECK_FALSE(device.health().ok());
  const auto scalar = device.read_scalar(stream, Tensor::flat(buffer.value()->bytes().slice(0, 4), DType::f32, 1));
  REQUIRE(scalar.has_value());
  CHECK(std::isnan(*scalar));
}

TEST_CASE("a stream that could not be made fails at the first wait") {
  Fixture f;
  MemoryDevice device(0, "beijing rank 3", f.clock);
  const Stream early = device.make_stream("early");
  REQUIRE(device.wait(device.record(early), after(f.clock, seconds(5))).ok());
  fake::break_device(cudaErrorIllegalAddress);
  fake::enqueue(device.native_stream(early), [] { return true; });
  CHECK_FALSE(device.wait(device.record(early), after(f.clock, seconds(5))).ok());
  const Stream late = device.make_stream("late");
  device.clear(late, {Space::host, nullptr, 0});
  CHECK(device.wait(device.record(late), after(f.clock, seconds(5))).error().code == ErrorCode::failed);
}

TEST_CASE("the kind of a copy follows from where both sides lie") {
  Fixture f;
  MemoryDevice device(0, "beijing rank 3", f.clock);
  const auto host = device.allocate(Space::host, 8);
  const auto pinned = device.allocate(Space::pinned, 8);
  const auto here = device.allocate(Space::device, 8);
  const auto there = device.allocate(Space::device, 8);
  REQUIRE((host.ok() && pinned.ok() && here.ok() && there.ok()));
  const Stream stream = device.make_stream("copies");
  const auto kind = [&](const Result<std::unique_ptr<Buffer>>& to, const Result<std::unique_ptr<Buffer>>& from) {
    device.copy(stream, to.value()->bytes(), from.value()->bytes());
    return fake::last_copy();
  };
  CHECK(kind(here, pinned) == "host to device");
  CHECK(kind(host, here) == "device to host");
  CHECK(kind(there, here) == "device to device");
  CHECK(kind(host, pinned) == "host to host");
  CHECK(device.wait(device.record(stream), after(f.clock, seconds(5))).ok());
}

TEST_CASE("nothing is left of a device that was used") {
  {
    Fixture f;
    MemoryDevice device(0, "beijing rank 3", f.clock);
    const auto buffer = device.allocate(Space::device, 100);
    const Stream stream = device.make_stream("s");
    device.record(stream);
    CHECK(fake::streams_alive() == 2);
  }
  CHECK(fake::streams_alive() == 0);
  CHECK(fake::events_made() == 0);
  CHECK(fake::allocations() == 0);
}

TEST_CASE("opening a device says why it cannot be used") {
  Fixture f;
  CHECK(open_cuda_device(7).ok());
  CHECK(open_cuda_device(8).error().message == "there is no GPU 8 here: 8 in all");
  CHECK(open_cuda_device(-1).error().code == ErrorCode::unsupported);
  fake::set_devices(0, cudaErrorNoDevice);
  CHECK(open_cuda_device(0).error().message == "no usable CUDA device: no CUDA-capable device is detected");
}

TEST_CASE("polling asks once more after the deadline, sleeps ever longer and never past it") {
  StepClock clock;
  int asked = 0;
  SECTION("what finished at the deadline wins") {
    const Status polled = poll_until(clock, TimePoint{1'000'000}, [&]() -> Result<bool> { return clock.now() >= TimePoint{1'000'000}; });
    CHECK(polled.ok());
  }
  SECTION("a deadline in the past still asks once") {
    CHECK(poll_until(clock, TimePoint{0}, [&]() -> Result<bool> { return ++asked == 1; }).ok());
    CHECK(poll_until(clock, TimePoint{0}, [&]() -> Result<bool> { return ++asked > 5; }).error().code == ErrorCode::timeout);
    CHECK(asked == 2);
  }
  SECTION("the deadline is kept exactly, with few sleeps") {
    CHECK(poll_until(clock, TimePoint{10'000'000}, []() -> Result<bool> { return false; }).error().code == ErrorCode::timeout);
    CHECK(clock.now() == TimePoint{10'000'000});
    CHECK(clock.slept < 60);
  }
  SECTION("an error ends it") {
    const auto polled = poll_until(clock, kNoDeadline, []() -> Result<bool> { return Error{ErrorCode::failed, "broken"}; });
    CHECK(polled.error().message == "broken");
  }
}

}  // namespace xdc::gpu_test
