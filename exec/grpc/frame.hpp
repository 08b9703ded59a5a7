// What stands in front of every payload on a stream between two members?
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "core/seam/fabric.hpp"

namespace xdc {

// Little-endian: magic u32, kind u32, payload bytes u64, sequence u64, four control words u64.
inline constexpr size_t kHeaderBytes = 56;

enum class FrameKind : uint32_t {
  message = 1,
  bye = 2,  // the sender closed its end in good order; nothing follows
};

struct FrameHeader {
  FrameKind kind = FrameKind::message;
  uint64_t payload_bytes = 0;
  uint64_t sequence = 0;  // of this stream, from 0
  ControlWords control;
};

std::array<std::byte, kHeaderBytes> encode(const FrameHeader& header);
// nullopt: not a header of this protocol.
std::optional<FrameHeader> decode(std::span<const std::byte, kHeaderBytes> bytes);

}  // namespace xdc
