// Under which names do two fabrics of one run recognise each other's calls?
#pragma once

namespace xdc {

inline constexpr char kStreamMethod[] = "/xdc.Fabric/Stream";
// Of the caller; "-bin" lets gRPC carry any bytes.
inline constexpr char kRunKey[] = "xdc-run-bin";
inline constexpr char kEpochKey[] = "xdc-epoch";
inline constexpr char kPurposeKey[] = "xdc-purpose-bin";
inline constexpr char kMembersKey[] = "xdc-members";
inline constexpr char kFromKey[] = "xdc-from";
inline constexpr char kToKey[] = "xdc-to";
// Which of the pair's streams.
inline constexpr char kStreamKey[] = "xdc-stream";
// Of the receiver, once it has opened the same channel: how many pieces it has had so far, in order.
inline constexpr char kAcceptedKey[] = "xdc-accepted";

}  // namespace xdc
