// How do a namespace's packets come here, and go back? A TUN device in it, with segmentation offload, so that one read may be 64 KB.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "core/base/result.hpp"
#include "exec/emu/network_namespace.hpp"
#include "exec/emu/packet.hpp"

namespace xdc {

class Tun {
 public:
  // In `where`, up, named "wan". Errors: unsupported, when there is no /dev/net/tun or no right to use it.
  static Result<Tun> make(const NetworkNamespace& where, int64_t mtu);
  ~Tun();
  Tun(Tun&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Tun& operator=(Tun&&) = delete;

  int fd() const { return fd_; }  // readable when there is a packet; does not block
  // The next packet; nullopt: none now.
  std::optional<Packet> read();
  // False: the namespace did not take it.
  bool write(const Packet& packet);

 private:
  explicit Tun(int fd) : fd_(fd) {}
  int fd_ = -1;
};

}  // namespace xdc
