#include "exec/emu/packet.hpp"

#include <arpa/inet.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>

#include <algorithm>
#include <cstring>

#include "core/base/check.hpp"

namespace xdc {

namespace {

// Headers are copied out and in: nothing says that they are aligned.
template <class Header>
Header header_at(const std::vector<std::byte>& bytes, size_t at) {
  Header header;
  std::memcpy(&header, bytes.data() + at, sizeof header);
  return header;
}

template <class Header>
void put_header(std::vector<std::byte>& bytes, size_t at, const Header& header) {
  std::memcpy(bytes.data() + at, &header, sizeof header);
}

bool is_ipv4(const std::vector<std::byte>& bytes) {
  return bytes.size() >= sizeof(iphdr) && header_at<iphdr>(bytes, 0).version == 4 && header_at<iphdr>(bytes, 0).ihl >= 5;
}

bool is_cuttable(const Packet& packet) {
  const int kind = packet.offload.kind & ~OffloadHeader::kEcn;
  return kind == OffloadHeader::kTcp4 && packet.offload.segment_bytes > 0 && is_ipv4(packet.bytes) &&
         packet.bytes.size() >= packet.offload.header_bytes;
}

// Where TCP begins, and where its payload does.
struct Layout {
  size_t tcp, payload;
};

Layout layout_of(const std::vector<std::byte>& bytes) {
  const size_t tcp = static_cast<size_t>(header_at<iphdr>(bytes, 0).ihl) * 4;
  return {tcp, tcp + static_cast<size_t>(header_at<tcphdr>(bytes, tcp).doff) * 4};
}

// RFC 1071, over the words of a header in the order of the wire.
uint32_t sum_words(const std::byte* data, size_t size) {
  uint32_t sum = 0;
  for (size_t i = 0; i + 1 < size; i += 2) sum += std::to_integer<uint32_t>(data[i]) << 8 | std::to_integer<uint32_t>(data[i + 1]);
  if (size % 2 == 1) sum += std::to_integer<uint32_t>(data[size - 1]) << 8;
  return sum;
}

uint16_t fold(uint32_t sum) {
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(sum);
}

// Lengths and checksums of one that was cut. TCP's checksum is left to whoever computes it last; until then its field holds
// the sum of the pseudo-header (virtio 1.2, section 5.1.6.2).
void finish(Packet& packet) {
  iphdr ip = header_at<iphdr>(packet.bytes, 0);
  const Layout at = layout_of(packet.bytes);
  ip.tot_len = htons(static_cast<uint16_t>(packet.bytes.size()));
  ip.check = 0;
  put_header(packet.bytes, 0, ip);
  ip.check = htons(static_cast<uint16_t>(~fold(sum_words(packet.bytes.data(), at.tcp))));
  put_header(packet.bytes, 0, ip);
  tcphdr tcp = header_at<tcphdr>(packet.bytes, at.tcp);
  const auto tcp_size = static_cast<uint32_t>(packet.bytes.size() - at.tcp);
  tcp.check = htons(fold(sum_words(packet.bytes.data() + 12, 8) + IPPROTO_TCP + tcp_size));
  put_header(packet.bytes, at.tcp, tcp);
  packet.offload.flags = OffloadHeader::kNeedsChecksum;
  packet.offload.checksum_from = static_cast<uint16_t>(at.tcp);
  packet.offload.checksum_at = 16;
  if (packet.bytes.size() - at.payload <= packet.offload.segment_bytes) {
    packet.offload.kind = OffloadHeader::kNone;
    packet.offload.segment_bytes = 0;
  }
}

}  // namespace

std::optional<uint32_t> Packet::destination() const {
  if (!is_ipv4(bytes)) return std::nullopt;
  return ntohl(header_at<iphdr>(bytes, 0).daddr);
}

int Packet::segments() const {
  if (!is_cuttable(*this)) return 1;
  const Layout at = layout_of(bytes);
  const size_t size = offload.segment_bytes;
  return static_cast<int>(std::max<size_t>(1, (bytes.size() - at.payload + size - 1) / size));
}

int64_t Packet::line_bytes() const {
  const int count = segments();
  const size_t headers = count > 1 ? layout_of(bytes).payload : 0;
  return static_cast<int64_t>(bytes.size() + headers * static_cast<size_t>(count - 1));
}

Packet cut_front(Packet& packet, int segments) {
  XDC_CHECK(segments > 0 && segments < packet.segments());
  const Layout at = layout_of(packet.bytes);
  const size_t taken = static_cast<size_t>(segments) * packet.offload.segment_bytes;
  Packet front{packet.offload, {packet.bytes.begin(), packet.bytes.begin() + static_cast<std::ptrdiff_t>(at.payload + taken)}};
  tcphdr tcp = header_at<tcphdr>(front.bytes, at.tcp);
  tcp.fin = 0;
  tcp.psh = 0;
  put_header(front.bytes, at.tcp, tcp);
  finish(front);

  const auto payload = packet.bytes.begin() + static_cast<std::ptrdiff_t>(at.payload);
  packet.bytes.erase(payload, payload + static_cast<std::ptrdiff_t>(taken));
  iphdr ip = header_at<iphdr>(packet.bytes, 0);
  ip.id = htons(static_cast<uint16_t>(ntohs(ip.id) + segments));
  put_header(packet.bytes, 0, ip);
  tcp = header_at<tcphdr>(packet.bytes, at.tcp);
  tcp.seq = htonl(ntohl(tcp.seq) + static_cast<uint32_t>(taken));
  put_header(packet.bytes, at.tcp, tcp);
  finish(packet);
  return front;
}

}  // namespace xdc
