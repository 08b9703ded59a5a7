#include "exec/emu/tun.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

namespace xdc {

namespace {

constexpr const char* kName = "wan";
constexpr size_t kMostBytes = 65536;
// Packets that wait in the device before they are read; beyond it the kernel drops what a line would have taken.
constexpr int kDeviceQueue = 10'000;

std::string reason() { return std::generic_category().message(errno); }

Status configure(int64_t mtu) {
  const int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return Error{ErrorCode::failed, fmt::format("a socket: {}", reason())};
  ifreq request{};
  std::strncpy(request.ifr_name, kName, IFNAMSIZ - 1);
  const auto set = [&](unsigned long what) { return ::ioctl(fd, what, &request) == 0; };
  request.ifr_mtu = static_cast<int>(mtu);
  bool fine = set(SIOCSIFMTU);
  request.ifr_qlen = kDeviceQueue;
  fine = fine && set(SIOCSIFTXQLEN);
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  fine = fine && set(SIOCSIFFLAGS);
  const std::string why = fine ? "" : reason();
  ::close(fd);
  return fine ? ok_status() : Status(Error{ErrorCode::failed, fmt::format("setting up a TUN device with an mtu of {}: {}", mtu, why)});
}

Result<int> open_device() {
  const int fd = ::open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return Error{ErrorCode::unsupported, fmt::format("/dev/net/tun: {}", reason())};
  ifreq request{};
  std::strncpy(request.ifr_name, kName, IFNAMSIZ - 1);
  request.ifr_flags = IFF_TUN | IFF_NO_PI | IFF_VNET_HDR;
  int header_size = sizeof(OffloadHeader);
  if (::ioctl(fd, TUNSETIFF, &request) != 0 || ::ioctl(fd, TUNSETVNETHDRSZ, &header_size) != 0 ||
      ::ioctl(fd, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4) != 0) {
    const std::string why = reason();
    ::close(fd);
    return Error{ErrorCode::unsupported, fmt::format("making a TUN device: {}", why)};
  }
  return fd;
}

}  // namespace

Result<Tun> Tun::make(const NetworkNamespace& where, int64_t mtu) {
  std::optional<Tun> made;
  XDC_TRY(where.within([&]() -> Status {
    XDC_TRY_ASSIGN(const int fd, open_device());
    made.emplace(Tun(fd));
    return configure(mtu);
  }));
  return std::move(*made);
}

Tun::~Tun() {
  if (fd_ >= 0) ::close(fd_);
}

std::optional<Packet> Tun::read() {
  Packet packet;
  packet.bytes.resize(kMostBytes);
  iovec parts[2]{{&packet.offload, sizeof packet.offload}, {packet.bytes.data(), packet.bytes.size()}};
  const ssize_t size = ::readv(fd_, parts, 2);
  if (size < static_cast<ssize_t>(sizeof packet.offload)) return std::nullopt;
  packet.bytes.resize(static_cast<size_t>(size) - sizeof packet.offload);
  return packet;
}

bool Tun::write(const Packet& packet) {
  const iovec parts[2]{{const_cast<OffloadHeader*>(&packet.offload), sizeof packet.offload},
                       {const_cast<std::byte*>(packet.bytes.data()), packet.bytes.size()}};
  return ::writev(fd_, parts, 2) == static_cast<ssize_t>(sizeof packet.offload + packet.bytes.size());
}

}  // namespace xdc
