// What do the bodies about fabrics share? Buffers with a pattern, waits for one message, a connection that must come about.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "tests/contract/world.hpp"

namespace xdc::contract {

inline constexpr Duration kLong = seconds(60);         // nothing that is meant to happen takes this long
inline constexpr Duration kShort = milliseconds(500);  // and what is meant not to happen is waited for this long

inline Deadline within(Env& env, Duration d) { return env.clock.now() + d; }

inline std::unique_ptr<Buffer> buffer_of(Env& env, size_t size, int seed) {
  auto buffer = env.device.allocate(Space::host, size).value();
  auto bytes = buffer->bytes().host();
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::byte>((i * 31 + static_cast<size_t>(seed) * 97) & 0xFF);
  }
  return buffer;
}

inline bool holds_pattern(const Buffer& buffer, int seed) {
  const auto bytes = buffer.bytes().host();
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] != static_cast<std::byte>((i * 31 + static_cast<size_t>(seed) * 97) & 0xFF)) {
      return false;
    }
  }
  return true;
}

inline WireSize wire_of(const Buffer& buffer) { return {static_cast<int64_t>(buffer.bytes().size), Traffic::payload}; }

inline Result<size_t> wait_one(Communicator& communicator, const WorkPtr& work, Deadline deadline) {
  Work* const works[] = {work.get()};
  return communicator.wait_any(works, deadline);
}

inline std::unique_ptr<Communicator> connected(Env& env, const View& view, std::string_view purpose) {
  auto communicator = env.fabric.connect(view, purpose, within(env, kLong));
  XDC_EXPECT_OK(communicator);
  return communicator.ok() ? std::move(communicator).value() : nullptr;
}

}  // namespace xdc::contract
