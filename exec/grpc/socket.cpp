#include "exec/grpc/socket.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <optional>
#include <system_error>
#include <utility>

namespace xdc {

namespace {

// Until writable or the deadline; the error of the connection attempt, ETIMEDOUT for the deadline.
int wait_connected(int fd, const SteadyClock& clock, Deadline deadline) {
  for (;;) {
    const int64_t left_ns = is_far(deadline) ? 1'000'000'000 : (deadline - clock.now()).ns;
    pollfd connected{fd, POLLOUT, 0};
    const int ready = ::poll(&connected, 1, static_cast<int>(std::clamp<int64_t>((left_ns + 999'999) / 1'000'000, 0, 1000)));
    if (ready > 0) {
      int error = 0;
      socklen_t size = sizeof error;
      return ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
    }
    if (left_ns <= 0) {
      return ETIMEDOUT;
    }
  }
}

}  // namespace

std::optional<sockaddr_in> parse_address(const std::string& address) {
  const size_t colon = address.rfind(':');
  uint16_t port = 0;
  const char* end = address.data() + address.size();
  if (colon == std::string::npos || std::from_chars(address.data() + colon + 1, end, port).ptr != end) {
    return std::nullopt;
  }
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  if (::inet_pton(AF_INET, address.substr(0, colon).c_str(), &to.sin_addr) != 1) {
    return std::nullopt;
  }
  return to;
}

Socket::~Socket() {
  if (fd_ >= 0) {
    ::close(fd_);
  }
}

Socket& Socket::operator=(Socket&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

int Socket::release() { return std::exchange(fd_, -1); }

void Socket::shut_down() const { ::shutdown(fd_, SHUT_RDWR); }

Result<Socket> Socket::duplicate() const {
  Socket copy(::fcntl(fd_, F_DUPFD_CLOEXEC, 0));
  if (copy.fd() < 0) {
    return Error{ErrorCode::failed, fmt::format("socket: {}", std::generic_category().message(errno))};
  }
  return copy;
}

Result<Socket> connect_tcp(const std::string& address, const SteadyClock& clock, Deadline deadline) {
  const std::optional<sockaddr_in> to = parse_address(address);
  if (!to) {
    return Error{ErrorCode::failed, fmt::format("\"{}\" is no address like 127.0.0.1:4711", address)};
  }
  Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  int error = socket.fd() < 0 ? errno : 0;
  if (error == 0) {
    const int on = 1;
    ::setsockopt(socket.fd(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (::connect(socket.fd(), reinterpret_cast<const sockaddr*>(&*to), sizeof *to) != 0) {
      error = errno == EINPROGRESS ? wait_connected(socket.fd(), clock, deadline) : errno;
    }
  }
  if (error == 0) {
    return socket;
  }
  const bool refused = error == ECONNREFUSED || error == ECONNRESET;
  return Error{refused              ? ErrorCode::peer_lost
               : error == ETIMEDOUT ? ErrorCode::timeout
                                    : ErrorCode::failed,
               fmt::format("connecting to {}: {}", address, std::generic_category().message(error))};
}

}  // namespace xdc
