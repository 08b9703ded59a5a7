// What stands in front of every piece of a message on its way between two members?
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "core/seam/fabric.hpp"

namespace xdc {

// Little-endian: magic u32, kind u32, epoch u64, sequence u64, payload bytes u64, checksum u64, four control words u64.
inline constexpr size_t kHeaderBytes = 72;

enum class FrameKind : uint32_t {
  message = 1,   // a message begins; the first piece of its payload follows
  more = 2,      // a further piece
  bye = 3,       // the sender closed its end in good order; nothing follows
  received = 4,  // the other way: pieces before `sequence` have come, in order
};

struct FrameHeader {
  FrameKind kind = FrameKind::message;
  uint64_t epoch = 0;          // of the view; a frame of another one is refused
  uint64_t sequence = 0;       // of the channel and ordered pair, from 0, over all of its streams
  uint64_t payload_bytes = 0;  // of the whole message
  uint64_t checksum = 0;       // see checksum()
  ControlWords control;        // in the first piece
};

std::array<std::byte, kHeaderBytes> encode(const FrameHeader& header);
// nullopt: not a header of this protocol.
std::optional<FrameHeader> decode(std::span<const std::byte, kHeaderBytes> bytes);

// XXH3-64 of the header with checksum 0, and then of the piece that follows, fed in any number of parts.
class Checksum {
 public:
  explicit Checksum(FrameHeader header);
  ~Checksum();
  Checksum(const Checksum&) = delete;
  Checksum& operator=(const Checksum&) = delete;
  void update(std::span<const std::byte> bytes);
  uint64_t value() const;

 private:
  void* state_;
};

}  // namespace xdc
