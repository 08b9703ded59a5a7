// What does a TUN device with IFF_VNET_HDR hand over? A packet of IPv4, of TCP perhaps many segments at once (segmentation offload):
// one pair of headers, and behind them the payload of all of them. What a line does to segments it does to these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace xdc {

// The header of virtio 1.2, section 5.1.6, in this machine's byte order; linux/virtio_net.h is no C++.
struct OffloadHeader {
  static constexpr uint8_t kNeedsChecksum = 1;
  static constexpr uint8_t kNone = 0, kTcp4 = 1, kEcn = 0x80;

  uint8_t flags = 0;
  uint8_t kind = kNone;
  uint16_t header_bytes = 0;   // of IP and TCP
  uint16_t segment_bytes = 0;  // of payload; the last segment may be shorter
  uint16_t checksum_from = 0, checksum_at = 0;
};
static_assert(sizeof(OffloadHeader) == 10);

struct Packet {
  OffloadHeader offload{};
  std::vector<std::byte> bytes;  // from the IPv4 header on

  // nullopt: no IPv4, or shorter than its headers say. In host order: 10.99.1.1 is 0x0a630101.
  std::optional<uint32_t> destination() const;
  // 1 where nothing is left to be cut.
  int segments() const;
  // Of IP, over all segments, each with headers of its own: what a line carries.
  int64_t line_bytes() const;
};

// The first `segments` of a packet, and the rest in `packet`: sequence numbers, lengths, identifications, flags and checksums as
// the kernel would have cut them. Requires 0 < segments < packet.segments().
Packet cut_front(Packet& packet, int segments);

}  // namespace xdc
