// Which settings make gRPC a bulk transport? Measured on loopback (tests/bench/fabric); gRPC's defaults are many times slower.
#pragma once

#include <cstddef>

#include "core/base/time.hpp"
#include "exec/grpc/frame.hpp"

namespace xdc {

// A payload travels in messages of this size, so that a receiver copies the first while the second is on its way.
inline constexpr size_t kChunkBytes = size_t{2} << 20;
// Up to here a payload is copied behind its header: cheaper than borrowing, and the send is finished at once.
inline constexpr size_t kCopiedBytes = size_t{64} << 10;
// A receiver stops reading a stream that has this many bytes no irecv has claimed; HTTP/2 flow control then stops the sender.
inline constexpr size_t kUnclaimedBytes = size_t{4} << 20;
// What HTTP/2 lets a sender have under way beyond what is read: one second at 60 Mbps, 60 ms at 1 Gbps.
inline constexpr int kLookaheadBytes = 8 << 20;
// What gRPC and the kernel may have taken of one stream that is not yet on the line.
inline constexpr size_t kQueuedBytes = size_t{6} << 20;
// A receiver says what it has after so many bytes or pieces.
inline constexpr size_t kReceivedBytes = size_t{512} << 10;
inline constexpr uint64_t kReceivedPieces = 32;
// With so much waiting to be sent a further connection is worth its handshake.
inline constexpr size_t kStreamWorthBytes = size_t{1} << 20;
// Out of order from several streams; a sender's window is smaller.
inline constexpr size_t kMaxAheadBytes = size_t{512} << 20;
// An attempt to connect takes no longer, and a broken stream is made again after a pause that grows to a second.
inline constexpr int kConnectMs = 2000;
inline constexpr Duration kFirstPause = milliseconds(20);
inline constexpr Duration kLongestPause = seconds(1);
// A stranger that does not finish its handshake is put off, and no connection has more calls than this.
inline constexpr int kHandshakeMs = 10'000;
inline constexpr int kMaxCallsOfAConnection = 8;
inline constexpr int kMaxFrameBytes = 1 << 20;
inline constexpr int kWriteBufferBytes = 2 << 20;
inline constexpr int kTcpReadBytes = 1 << 20;
// No message of this protocol is longer; a longer one is refused before memory is taken for it.
inline constexpr int kMaxMessageBytes = static_cast<int>(kChunkBytes + kHeaderBytes);

// Of the allocator: what is larger goes straight to the system; so much freed memory is kept; the heap grows in such steps.
inline constexpr int kLargestReused = 16 << 20;
inline constexpr int kFreeKeptBytes = 256 << 20;
inline constexpr int kHeapStepBytes = 16 << 20;

}  // namespace xdc
