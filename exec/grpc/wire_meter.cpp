#include "exec/grpc/wire_meter.hpp"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>

#include "core/base/log.hpp"

namespace xdc {

namespace {

// What the kernel calls TCP's states; <netinet/tcp.h> has them, and does not go with <linux/tcp.h>, which has the counters.
constexpr std::array<int, 5> kOver{/* FIN_WAIT2 */ 5, /* TIME_WAIT */ 6, /* CLOSE */ 7, /* LAST_ACK */ 9, /* CLOSING */ 11};

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

std::optional<ino_t> inode_of_socket(int fd) {
  struct stat info {};
  return ::fstat(fd, &info) == 0 && S_ISSOCK(info.st_mode) ? std::optional(info.st_ino) : std::nullopt;
}

// "127.0.0.1:4711", also of a socket that speaks IPv6 with an IPv4 address inside.
std::string peer_of(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return {};
  }
  in_addr inside{};
  in_port_t port = 0;
  if (address.ss_family == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(&address);
    inside = v4->sin_addr;
    port = v4->sin_port;
  } else if (const auto* v6 = reinterpret_cast<const sockaddr_in6*>(&address);
             address.ss_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr)) {
    std::memcpy(&inside, &v6->sin6_addr.s6_addr[12], sizeof inside);
    port = v6->sin6_port;
  } else {
    return {};
  }
  return fmt::format("{}:{}", ::inet_ntop(AF_INET, &inside, text.data(), text.size()), ntohs(port));
}

std::optional<tcp_info> info_of(const Socket& socket) {
  tcp_info info{};
  socklen_t size = sizeof info;
  const bool told = ::getsockopt(socket.fd(), IPPROTO_TCP, TCP_INFO, &info, &size) == 0;
  const bool whole = size >= offsetof(tcp_info, tcpi_bytes_sent) + sizeof info.tcpi_bytes_sent;  // since Linux 4.19
  return told && whole ? std::optional(info) : std::nullopt;
}

void add(WireMeter::Count& count, const tcp_info& info) {
  count.sent += static_cast<int64_t>(info.tcpi_bytes_sent);
  count.received += static_cast<int64_t>(info.tcpi_bytes_received);
}

}  // namespace

bool WireMeter::look(const std::string& address, MemberId member) {
  const std::lock_guard lock(mutex_);
  retire_ended();
  bool found = false;
  const std::unique_ptr<DIR, CloseDirectory> descriptors(::opendir("/proc/self/fd"));
  while (const dirent* entry = descriptors ? ::readdir(descriptors.get()) : nullptr) {
    char* end = nullptr;
    const int fd = static_cast<int>(std::strtol(entry->d_name, &end, 10));
    found = (end != entry->d_name && *end == '\0' && hold(fd, address, member)) || found;
  }
  const bool known = std::any_of(held_.begin(), held_.end(), [&](const auto& held) { return held.second.member == member; });
  if (!known && !warned_) {
    warned_ = true;
    log(LogLevel::warning,
        fmt::format("the socket to {} is not found among /proc/self/fd, or the kernel does not count its bytes: the bytes "
                    "of lines are those that gRPC was handed",
                    address));
  }
  return found;
}

// Another thread may close the descriptor, or make it another one, at any time: what is looked at is a duplicate of our own.
bool WireMeter::hold(int fd, const std::string& address, MemberId member) {
  const auto inode = inode_of_socket(fd);
  if (!inode || held_.contains(*inode)) {
    return false;
  }
  Socket socket(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
  if (socket.fd() < 0 || inode_of_socket(socket.fd()) != inode || peer_of(socket.fd()) != address || !info_of(socket)) {
    return false;
  }
  held_.emplace(*inode, Held{member, std::move(socket)});
  return true;
}

void WireMeter::retire_ended() {
  std::erase_if(held_, [this](const auto& held) {
    const auto info = info_of(held.second.socket);
    if (!info || std::find(kOver.begin(), kOver.end(), info->tcpi_state) == kOver.end()) {
      return false;
    }
    add(ended_[held.second.member], *info);
    return true;
  });
}

std::map<MemberId, WireMeter::Count> WireMeter::counts() {
  const std::lock_guard lock(mutex_);
  retire_ended();
  auto all = ended_;
  for (const auto& [inode, held] : held_) {
    if (const auto info = info_of(held.socket)) {
      add(all[held.member], *info);
    }
  }
  return all;
}

std::vector<TrafficCount> WireMeter::over(const std::vector<TrafficCount>& handed) {
  std::map<MemberId, TrafficCount> all;
  for (const TrafficCount& count : handed) {
    all[count.to] = count;
  }
  for (const auto& [member, wire] : counts()) {
    TrafficCount& count = all[member];
    count.to = member;
    count.wire_bytes = std::max(count.wire_bytes, wire.sent);
    count.returned_bytes = wire.received;
  }
  std::vector<TrafficCount> out;
  for (const auto& [member, count] : all) {
    out.push_back(count);
  }
  return out;
}

}  // namespace xdc
