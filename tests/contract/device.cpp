// Does a device keep its streams in order and its memory apart?
#include <catch2/catch.hpp>
#include <cstring>

#include "tests/contract/world.hpp"

namespace xdc::contract {
namespace {

void fill(std::span<std::byte> bytes, int seed) {
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>((i + static_cast<size_t>(seed)) & 0xFF);
}

}  // namespace

TEST_CASE("memory is zero at first and keeps its space and size", "[device]") {
  hold(setting_of({1}), [](Env& env, MemberId) {
    for (const auto space : {Space::host, Space::pinned, Space::device}) {
      for (const size_t size : {size_t{0}, size_t{1}, size_t{4097}}) {
        const auto buffer = env.device.allocate(space, size);
        XDC_EXPECT_OK(buffer);
        XDC_REQUIRE(buffer.ok());
        const auto bytes = buffer.value()->bytes();
        XDC_EXPECT(bytes.space == space && bytes.size == size && !bytes.phantom());
        if (space != Space::device) {
          for (const auto b : bytes.host()) XDC_EXPECT(b == std::byte{0});
        }
      }
    }
  });
}

TEST_CASE("what is copied to a device and back is the same", "[device]") {
  hold(setting_of({1}), [](Env& env, MemberId) {
    const auto stream = env.device.make_stream("copies");
    const auto from = env.device.allocate(Space::pinned, 10'000).value();
    const auto there = env.device.allocate(Space::device, 10'000).value();
    const auto beside = env.device.allocate(Space::device, 10'000).value();
    const auto back = env.device.allocate(Space::pinned, 10'000).value();
    fill(from->bytes().host(), 3);
    env.device.copy(stream, there->bytes(), from->bytes());
    env.device.copy(stream, beside->bytes(), there->bytes());
    env.device.copy(stream, back->bytes(), beside->bytes());
    XDC_EXPECT_OK(env.device.wait(env.device.record(stream), env.clock.now() + seconds(60)));
    XDC_EXPECT(std::memcmp(from->bytes().data, back->bytes().data, 10'000) == 0);

    env.device.clear(stream, beside->bytes().slice(0, 5'000));
    env.device.copy(stream, back->bytes(), beside->bytes());
    XDC_EXPECT_OK(env.device.wait(env.device.record(stream), env.clock.now() + seconds(60)));
    const auto bytes = back->bytes().host();
    XDC_EXPECT(bytes[0] == std::byte{0} && bytes[4'999] == std::byte{0} && bytes[5'000] == from->bytes().host()[5'000]);
  });
}

TEST_CASE("a stream that waits for another's event sees what was written before it", "[device]") {
  hold(setting_of({1}), [](Env& env, MemberId) {
    const auto first = env.device.make_stream("first");
    const auto second = env.device.make_stream("second");
    const auto from = env.device.allocate(Space::pinned, 1'000).value();
    const auto there = env.device.allocate(Space::device, 1'000).value();
    const auto back = env.device.allocate(Space::pinned, 1'000).value();
    for (int i = 1; i <= 20; ++i) {
      fill(from->bytes().host(), i);
      env.device.charge(first, {1e8, 0});
      env.device.copy(first, there->bytes(), from->bytes());
      env.device.stream_wait(second, env.device.record(first));
      env.device.copy(second, back->bytes(), there->bytes());
      XDC_EXPECT_OK(env.device.wait(env.device.record(second), env.clock.now() + seconds(60)));
      XDC_EXPECT(std::memcmp(from->bytes().data, back->bytes().data, 1'000) == 0);
    }
  });
}

TEST_CASE("an event of an idle stream is done, and a done event wins over a past deadline", "[device]") {
  hold(setting_of({1}), [](Env& env, MemberId) {
    const auto stream = env.device.make_stream("idle");
    const auto event = env.device.record(stream);
    XDC_EXPECT_OK(env.device.wait(event, env.clock.now() + seconds(60)));
    XDC_EXPECT_OK(env.device.wait(event, TimePoint{}));
  });
}

TEST_CASE("a scalar is read after what was enqueued before it", "[device]") {
  hold(setting_of({1}), [](Env& env, MemberId) {
    const auto stream = env.device.make_stream("scalar");
    const auto from = env.device.allocate(Space::pinned, 4).value();
    const auto there = env.device.allocate(Space::device, 4).value();
    const float value = 2.5F;
    std::memcpy(from->bytes().host().data(), &value, 4);
    const auto scalar = Tensor::flat(there->bytes(), DType::f32, 1);
    env.device.charge(stream, {1e9, 0});
    env.device.copy(stream, there->bytes(), from->bytes());
    XDC_EXPECT(env.device.read_scalar(stream, scalar) == 2.5F);
    env.device.kernels().add(stream, scalar, scalar);
    env.device.kernels().scale(stream, scalar, 3);
    XDC_EXPECT(env.device.read_scalar(stream, scalar) == 15.0F);
  });
}

TEST_CASE("in a phantom run device memory has no contents and everything else has", "[device]") {
  if (!world().has_phantom_payload()) {
    WARN(world().name() << " has no phantom payload");
    return;
  }
  auto setting = setting_of({1});
  setting.payload = PayloadKind::phantom;
  hold(setting, [](Env& env, MemberId) {
    const auto big = env.device.allocate(Space::device, 1 << 30);
    XDC_EXPECT_OK(big);
    XDC_REQUIRE(big.ok());
    XDC_EXPECT(big.value()->bytes().phantom() && big.value()->bytes().size == size_t{1} << 30);
    const auto host = env.device.allocate(Space::pinned, 100).value();
    XDC_EXPECT(!host->bytes().phantom());
    const auto stream = env.device.make_stream("phantom");
    env.device.clear(stream, big.value()->bytes());
    env.device.copy(stream, big.value()->bytes().slice(7, 100), host->bytes());
    const auto scalar = Tensor::flat(big.value()->bytes().slice(0, 4), DType::f32, 1);
    env.device.kernels().add(stream, scalar, scalar);
    XDC_EXPECT(!env.device.read_scalar(stream, scalar).has_value());
    XDC_EXPECT_OK(env.device.wait(env.device.record(stream), env.clock.now() + seconds(60)));
  });
}

}  // namespace xdc::contract
