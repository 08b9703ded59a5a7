// Does a GPU keep the seam's promises about memory, copies, streams and events? Runs on a real GPU and on the fake one.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <thread>
#include <vector>

#include "tests/gpu/gpu_world.hpp"

namespace xdc::gpu_test {
namespace {

struct Fixture {
  SteadyClock clock;
  MemoryDevice device{0, "beijing rank 0", clock};
  Stream any = device.make_stream("any");

  std::unique_ptr<Buffer> memory(Space space, size_t size) {
    auto made = device.allocate(space, size);
    REQUIRE(made.ok());
    return std::move(made).value();
  }
  Deadline soon() { return after(clock, seconds(20)); }
};

void fill(const Buffer& buffer, int seed) {
  auto bytes = buffer.bytes().host();
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::byte>((i * 31 + static_cast<size_t>(seed)) % 251);
  }
}

bool same(const Buffer& a, const Buffer& b) { return std::ranges::equal(a.bytes().host(), b.bytes().host()); }

}  // namespace

TEST_CASE("new memory is zero in every space and is given back") {
  XDC_NEEDS_GPUS(1);
  Fixture f;
  for (const Space space : {Space::host, Space::pinned, Space::device}) {
    for (const size_t size : {size_t{0}, size_t{1}, size_t{1000}, size_t{1} << 22U}) {
      const auto buffer = f.memory(space, size);
      CHECK(buffer->bytes().size == size);
      CHECK(buffer->bytes().space == space);
      CHECK_FALSE(buffer->bytes().phantom());
      const auto seen = f.memory(Space::pinned, size);
      std::memset(seen->bytes().data, 0x77, size);
      f.device.copy(f.any, seen->bytes(), buffer->bytes());
      REQUIRE(f.device.wait(f.device.record(f.any), f.soon()).ok());
      CHECK(std::ranges::all_of(seen->bytes().host(), [](std::byte b) { return b == std::byte{0}; }));
    }
  }
  CHECK(f.device.device_bytes_in_use() == 0);
  CHECK(f.device.pinned_bytes_in_use() == 0);
}

TEST_CASE("bytes come back unchanged through device memory, from pinned and from pageable memory") {
  XDC_NEEDS_GPUS(1);
  Fixture f;
  const Stream stream = f.device.make_stream("copies");
  for (const Space space : {Space::host, Space::pinned}) {
    constexpr size_t kSize = 3'000'017;
    const auto source = f.memory(space, kSize);
    const auto there = f.memory(Space::device, kSize);
    const auto further = f.memory(Space::device, kSize);
    const auto back = f.memory(space, kSize);
    fill(*source, 7);
    f.device.copy(stream, there->bytes(), source->bytes());
    f.device.copy(stream, further->bytes(), there->bytes());
    f.device.copy(stream, back->bytes(), further->bytes());
    REQUIRE(f.device.wait(f.device.record(stream), f.soon()).ok());
    CHECK(same(*source, *back));
  }
}

TEST_CASE("a slice is copied to a slice and nothing beside it") {
  XDC_NEEDS_GPUS(1);
  Fixture f;
  const Stream stream = f.device.make_stream("copies");
  const auto source = f.memory(Space::pinned, 100);
  const auto there = f.memory(Space::device, 100);
  const auto back = f.memory(Space::pinned, 100);
  fill(*source, 1);
  f.device.copy(stream, there->bytes().slice(10, 30), source->bytes().slice(50, 30));
  f.device.copy(stream, back->bytes(), there->bytes());
  REQUIRE(f.device.wait(f.device.record(stream), f.soon()).ok());
  const auto got = back->bytes().host();
  for (size_t i = 0; i < 100; ++i) {
    CHECK(got[i] == (i >= 10 && i < 40 ? source->bytes().host()[i + 40] : std::byte{0}));
  }
}

TEST_CASE("clear makes any memory zero, in stream order") {
  XDC_NEEDS_GPUS(1);
  Fixture f;
  const Stream stream = f.device.make_stream("clears");
  for (const Space space : {Space::host, Space::pinned, Space::device}) {
    const auto source = f.memory(Space::pinned, 5000);
    const auto target = f.memory(space, 5000);
    const auto back = f.memory(Space::pinned, 5000);
    fill(*source, 3);
    f.device.copy(stream, target->bytes(), source->bytes());
    f.device.clear(stream, target->bytes().slice(1000, 500));
    f.device.copy(stream, back->bytes(), target->bytes());
    REQUIRE(f.device.wait(f.device.record(stream), f.soon()).ok());
    for (size_t i = 0; i < 5000; ++i) {
      REQUIRE(back->bytes().host()[i] == (i >= 1000 && i < 1500 ? std::byte{0} : source->bytes().host()[i]));
    }
  }
}

TEST_CASE("a stream that waits for an event sees what the other stream wrote before it") {
  XDC_NEEDS_GPUS(1);
  Fixture f;
  constexpr size_t kSize = size_t{64} << 20U;
  const Stream first = f.device.make_stream("first");
  const Stream second = f.device.make_stream("second");
  const auto source = f.memory(Space::pinned, kSize);
  const auto there = f.memory(Space::device, kSize);
  const auto back = f.memory(Space::pinned, kSize);
  for (int round = 0; round < 5; ++round) {
    fill(*source, round);
    f.device.copy(first, there->bytes(), source->bytes());
    f.device.stream_wait(second, f.device.record(first));
    f.device.copy(second, back->bytes(), there->bytes());
    REQUIRE(f.device.wait(f.device.record(second), f.soon()).ok());
    REQUIRE(same(*source, *back));
  }
}

TEST_CASE("an event that is long past stays finished, also for streams and with a deadline in the past") {
  XDC_NEEDS_GPUS(1);
  Fixture f;
  const Stream stream = f.device.make_stream("events");
  const Stream other = f.device.make_stream("other");
  const Event early = f.device.record(stream);
  REQUIRE(f.device.wait(early, f.soon()).ok());
  for (int i = 0; i < 1000; ++i) {
    REQUIRE(f.device.wait(f.device.record(stream), f.soon()).ok());
  }
  CHECK(f.device.wait(early, TimePoint{0}).ok());
  f.device.stream_wait(other, early);
  CHECK(f.device.wait(f.device.record(other), f.soon()).ok());
}

TEST_CASE("a scalar is read after everything enqueued before") {
  XDC_NEEDS_GPUS(1);
  Fixture f;
  const Stream stream = f.device.make_stream("scalar");
  const auto source = f.memory(Space::pinned, sizeof(float) * 4);
  const auto there = f.memory(Space::device, sizeof(float) * 4);
  const std::vector<float> values = {1.5F, -2.25F, 3e10F, -0.0F};
  std::memcpy(source->bytes().data, values.data(), sizeof(float) * 4);
  f.device.copy(stream, there->bytes(), source->bytes());
  for (int i = 0; i < 4; ++i) {
    const auto read = f.device.read_scalar(stream, Tensor::flat(there->bytes(), DType::f32, 4).range(i, 1));
    REQUIRE(read.has_value());
    CHECK(*read == values[static_cast<size_t>(i)]);
  }
}

TEST_CASE("lanes use streams of their own and wait for each other's events at the same time") {
  XDC_NEEDS_GPUS(1);
  Fixture f;
  std::vector<int> wrong(4, 0);
  std::vector<std::thread> lanes;
  std::vector<std::unique_ptr<Buffer>> sources, theres, backs;
  for (int i = 0; i < 4; ++i) {
    sources.push_back(f.memory(Space::pinned, 10'000));
    theres.push_back(f.memory(Space::device, 10'000));
    backs.push_back(f.memory(Space::pinned, 10'000));
    fill(*sources.back(), i);
  }
  for (size_t i = 0; i < 4; ++i) {
    lanes.emplace_back([&, i] {
      const Stream stream = f.device.make_stream("lane");
      for (int round = 0; round < 200; ++round) {
        f.device.copy(stream, theres[i]->bytes(), sources[i]->bytes());
        f.device.copy(stream, backs[i]->bytes(), theres[i]->bytes());
        wrong[i] += f.device.wait(f.device.record(stream), after(f.clock, seconds(20))).ok() && same(*sources[i], *backs[i]) ? 0 : 1;
      }
    });
  }
  for (auto& lane : lanes) {
    lane.join();
  }
  CHECK(wrong == std::vector<int>(4, 0));
}

TEST_CASE("memory that is not there is refused with what was asked for, in use and free, and later requests succeed") {
  XDC_NEEDS_GPUS(1);
  Fixture f;
  const auto held = f.memory(Space::device, 1'000'000);
  const auto refused = f.device.allocate(Space::device, size_t{1} << 50U);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == ErrorCode::failed);
  INFO(refused.error().message);
  CHECK(refused.error().message.find("beijing rank 0") != std::string::npos);
  CHECK(refused.error().message.find("out of memory") != std::string::npos);
  CHECK(refused.error().message.find("in use by this member: device 1 MB, pinned 0 B") != std::string::npos);
  CHECK(refused.error().message.find("free on the device") != std::string::npos);
  CHECK(f.device.allocate(Space::device, 1000).ok());
  CHECK_FALSE(f.device.allocate(Space::host, ~size_t{0}).ok());
}

}  // namespace xdc::gpu_test
