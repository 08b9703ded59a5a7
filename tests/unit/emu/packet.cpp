// Is a packet that stands for many segments cut as the kernel would have cut it?
#include "exec/emu/packet.hpp"

#include <arpa/inet.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>

#include <catch2/catch.hpp>
#include <cstring>

namespace xdc {
namespace {

constexpr size_t kHeaders = 40;
constexpr uint16_t kSegment = 1000;
constexpr uint32_t kSequence = 0xfffffc00;  // wraps within the packet
constexpr uint16_t kId = 65534;             // and so does this

// From 10.99.1.1 to 10.99.2.3, with FIN and PSH, of so many bytes of payload: 0, 1, 2, ...
Packet packet_of(size_t payload) {
  Packet packet;
  packet.bytes.resize(kHeaders + payload);
  iphdr ip{};
  ip.version = 4;
  ip.ihl = 5;
  ip.id = htons(kId);
  ip.ttl = 64;
  ip.protocol = IPPROTO_TCP;
  ip.tot_len = htons(static_cast<uint16_t>(packet.bytes.size()));
  ip.saddr = htonl(0x0a630101);
  ip.daddr = htonl(0x0a630203);
  std::memcpy(packet.bytes.data(), &ip, sizeof ip);
  tcphdr tcp{};
  tcp.doff = 5;
  tcp.seq = htonl(kSequence);
  tcp.ack = tcp.psh = tcp.fin = 1;
  std::memcpy(packet.bytes.data() + sizeof ip, &tcp, sizeof tcp);
  for (size_t i = 0; i < payload; ++i) packet.bytes[kHeaders + i] = static_cast<std::byte>(i % 251);
  packet.offload = {OffloadHeader::kNeedsChecksum, OffloadHeader::kTcp4, kHeaders, kSegment, 20, 16};
  return packet;
}

iphdr ip_of(const Packet& packet) {
  iphdr ip;
  std::memcpy(&ip, packet.bytes.data(), sizeof ip);
  return ip;
}
tcphdr tcp_of(const Packet& packet) {
  tcphdr tcp;
  std::memcpy(&tcp, packet.bytes.data() + sizeof(iphdr), sizeof tcp);
  return tcp;
}

// Of whole words, folded; 0xffff where a checksum is part of them and right.
uint16_t sum(const std::byte* data, size_t size) {
  uint32_t total = 0;
  for (size_t i = 0; i < size; i += 2) total += std::to_integer<uint32_t>(data[i]) * 256 + std::to_integer<uint32_t>(data[i + 1]);
  while (total >> 16 != 0) total = (total & 0xffff) + (total >> 16);
  return static_cast<uint16_t>(total);
}

void check_headers(const Packet& packet) {
  CHECK(ntohs(ip_of(packet).tot_len) == packet.bytes.size());
  CHECK(sum(packet.bytes.data(), sizeof(iphdr)) == 0xffff);
  // What is left to be added to TCP's checksum: addresses, protocol and length (RFC 9293, section 3.1).
  const auto length = static_cast<uint16_t>(packet.bytes.size() - sizeof(iphdr));
  const uint32_t rest = sum(packet.bytes.data() + 12, 8) + 6U + length;
  CHECK(ntohs(tcp_of(packet).check) == static_cast<uint16_t>((rest & 0xffff) + (rest >> 16)));
}

TEST_CASE("a packet knows where it goes, its segments, and what a line carries of it") {
  const Packet packet = packet_of(4500);
  CHECK(packet.destination() == 0x0a630203U);
  CHECK(packet.segments() == 5);
  CHECK(packet.line_bytes() == 4500 + 5 * 40);
  CHECK(packet_of(0).segments() == 1);
  CHECK(packet_of(0).line_bytes() == 40);
}

TEST_CASE("a packet that is cut gives the segments that the kernel would have made") {
  Packet rest = packet_of(4500);
  const Packet front = cut_front(rest, 2);
  const Packet third = cut_front(rest, 1);
  CHECK(front.segments() == 2);
  CHECK(third.segments() == 1);
  CHECK(third.offload.kind == OffloadHeader::kNone);
  CHECK(rest.segments() == 2);
  CHECK(front.line_bytes() + third.line_bytes() + rest.line_bytes() == packet_of(4500).line_bytes());
  uint32_t at = 0;
  uint16_t id = kId;
  for (const Packet* part : std::initializer_list<const Packet*>{&front, &third, &rest}) {
    check_headers(*part);
    CHECK(ntohl(tcp_of(*part).seq) == kSequence + at);
    CHECK(ntohs(ip_of(*part).id) == id);
    const size_t payload = part->bytes.size() - kHeaders;
    for (size_t i = 0; i < payload; ++i) REQUIRE(part->bytes[kHeaders + i] == static_cast<std::byte>((at + i) % 251));
    at += static_cast<uint32_t>(payload);
    id = static_cast<uint16_t>(id + part->segments());
  }
  CHECK(at == 4500);
  // The end of a stream is at the end.
  CHECK(tcp_of(front).fin == 0);
  CHECK(tcp_of(third).psh == 0);
  CHECK(tcp_of(rest).fin == 1);
  CHECK(tcp_of(rest).psh == 1);
}

TEST_CASE("bytes that are no packet of IPv4 have no destination and are one segment") {
  Packet packet = packet_of(3000);
  packet.bytes[0] = std::byte{0x60};
  CHECK_FALSE(packet.destination());
  CHECK(packet.segments() == 1);
  packet.bytes.resize(7);
  CHECK_FALSE(packet.destination());
  CHECK(packet.segments() == 1);
}

TEST_CASE("a packet that is shorter than its headers say is not cut") {
  Packet packet = packet_of(3000);
  packet.bytes.resize(30);
  CHECK(packet.segments() == 1);
  CHECK(packet.line_bytes() == 30);
}

}  // namespace
}  // namespace xdc
