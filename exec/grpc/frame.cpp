#include "exec/grpc/frame.hpp"

namespace xdc {

namespace {

constexpr uint32_t kMagic = 0x31434458;  // "XDC1"

template <class T>
void put(std::byte*& at, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) {
    *at++ = static_cast<std::byte>(value >> (8 * i));
  }
}

template <class T>
T take(const std::byte*& at) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) {
    value |= static_cast<T>(*at++) << (8 * i);
  }
  return value;
}

}  // namespace

std::array<std::byte, kHeaderBytes> encode(const FrameHeader& header) {
  std::array<std::byte, kHeaderBytes> bytes;
  std::byte* at = bytes.data();
  put(at, kMagic);
  put(at, static_cast<uint32_t>(header.kind));
  put(at, header.payload_bytes);
  put(at, header.sequence);
  for (const uint64_t word : header.control.word) {
    put(at, word);
  }
  return bytes;
}

std::optional<FrameHeader> decode(std::span<const std::byte, kHeaderBytes> bytes) {
  const std::byte* at = bytes.data();
  const auto magic = take<uint32_t>(at);
  const auto kind = take<uint32_t>(at);
  if (magic != kMagic || (kind != static_cast<uint32_t>(FrameKind::message) && kind != static_cast<uint32_t>(FrameKind::bye))) {
    return std::nullopt;
  }
  FrameHeader header;
  header.kind = static_cast<FrameKind>(kind);
  header.payload_bytes = take<uint64_t>(at);
  header.sequence = take<uint64_t>(at);
  for (uint64_t& word : header.control.word) {
    word = take<uint64_t>(at);
  }
  return header;
}

}  // namespace xdc
