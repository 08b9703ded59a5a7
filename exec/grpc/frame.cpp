#include "exec/grpc/frame.hpp"

#include <xxhash.h>
#ifdef __x86_64__
#include <xxh_x86dispatch.h>  // XXH3 by the widest registers that the processor has; the same sums
#endif

namespace xdc {

namespace {

constexpr uint32_t kMagic = 0x32434458;  // "XDC2"

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
  put(at, header.epoch);
  put(at, header.sequence);
  put(at, header.payload_bytes);
  put(at, header.checksum);
  for (const uint64_t word : header.control.word) {
    put(at, word);
  }
  return bytes;
}

std::optional<FrameHeader> decode(std::span<const std::byte, kHeaderBytes> bytes) {
  const std::byte* at = bytes.data();
  const auto magic = take<uint32_t>(at);
  const auto kind = take<uint32_t>(at);
  if (magic != kMagic || kind < static_cast<uint32_t>(FrameKind::message) || kind > static_cast<uint32_t>(FrameKind::received)) {
    return std::nullopt;
  }
  FrameHeader header;
  header.kind = static_cast<FrameKind>(kind);
  header.epoch = take<uint64_t>(at);
  header.sequence = take<uint64_t>(at);
  header.payload_bytes = take<uint64_t>(at);
  header.checksum = take<uint64_t>(at);
  for (uint64_t& word : header.control.word) {
    word = take<uint64_t>(at);
  }
  return header;
}

Checksum::Checksum(FrameHeader header) : state_(XXH3_createState()) {
  XDC_CHECK_MSG(state_ != nullptr, "no memory for a checksum");
  XXH3_64bits_reset(static_cast<XXH3_state_t*>(state_));
  header.checksum = 0;
  update(encode(header));
}

Checksum::~Checksum() { XXH3_freeState(static_cast<XXH3_state_t*>(state_)); }

void Checksum::update(std::span<const std::byte> bytes) {
  XXH3_64bits_update(static_cast<XXH3_state_t*>(state_), bytes.data(), bytes.size());
}

uint64_t Checksum::value() const { return XXH3_64bits_digest(static_cast<const XXH3_state_t*>(state_)); }

}  // namespace xdc
