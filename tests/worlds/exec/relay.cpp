#include "tests/worlds/exec/relay.hpp"

#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>

#include "exec/grpc/socket.hpp"

namespace xdc {

Relay::Relay(const std::string& target) : target_(target) {
  listening_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at = parse_address("127.0.0.1:0").value();
  socklen_t size = sizeof at;
  REQUIRE(::bind(listening_, reinterpret_cast<sockaddr*>(&at), size) == 0);
  REQUIRE(::listen(listening_, 64) == 0);
  REQUIRE(::getsockname(listening_, reinterpret_cast<sockaddr*>(&at), &size) == 0);
  address_ = fmt::format("127.0.0.1:{}", ntohs(at.sin_port));
  thread_ = std::thread([this] { run(); });
}

Relay::~Relay() {
  ending_ = true;
  thread_.join();
}

void Relay::refuse() { refuse_ = true; }

void Relay::flip_bits(int64_t every_bytes, int times) {
  flip_every_ = every_bytes;
  flips_left_ = times;
}

void Relay::run() {
  while (!ending_) {
    if (refuse_ && listening_ >= 0) {
      ::close(listening_);
      listening_ = -1;
      end_all();
    }
    if (break_.exchange(false)) {
      end_all();
    }
    std::vector<pollfd> fds{{listening_, POLLIN, 0}};
    for (const Pair& pair : pairs_) {
      fds.push_back({held_ ? -1 : pair.near, POLLIN, 0});
      fds.push_back({held_ ? -1 : pair.far, POLLIN, 0});
    }
    ::poll(fds.data(), fds.size(), 5);
    for (size_t i = pairs_.size(); i-- > 0;) {
      Pair& pair = pairs_[i];
      const bool forth = fds[2 * i + 1].revents == 0 || pass(pair.near, pair.far, true);
      const bool back = fds[2 * i + 2].revents == 0 || pass(pair.far, pair.near, false);
      if (!forth || !back) {
        ::close(pair.near);
        ::close(pair.far);
        pairs_.erase(pairs_.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
    if (fds[0].revents != 0) {
      accept_one();
    }
  }
  end_all();
  if (listening_ >= 0) {
    ::close(listening_);
  }
}

void Relay::accept_one() {
  const int near = ::accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC);
  const int far = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in to = parse_address(target_).value();
  if (near < 0 || ::connect(far, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) {
    ::close(near);
    ::close(far);
    return;
  }
  ++connections_;
  pairs_.push_back({near, far});
}

bool Relay::pass(int from, int to, bool may_flip) {
  std::array<char, 1 << 16> bytes;
  const ssize_t n = ::recv(from, bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (n <= 0) {
    return n < 0 && (errno == EAGAIN || errno == EINTR);
  }
  since_flip_ += may_flip ? n : 0;
  if (may_flip && flips_left_ > 0 && since_flip_ >= flip_every_) {
    bytes[static_cast<size_t>(n / 2)] ^= 0x10;
    since_flip_ = 0;
    --flips_left_;
  }
  for (ssize_t sent = 0; sent < n;) {
    // Blocks while the receiver is slow, and is woken by the end of the test's fabrics.
    const ssize_t part = ::send(to, bytes.data() + sent, static_cast<size_t>(n - sent), MSG_NOSIGNAL);
    if (part <= 0) {
      return false;
    }
    sent += part;
  }
  return true;
}

void Relay::end_all() {
  for (const Pair& pair : pairs_) {
    // With a reset, as a line's equipment does it.
    const linger at_once{1, 0};
    for (const int fd : {pair.near, pair.far}) {
      ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
      ::close(fd);
    }
  }
  pairs_.clear();
}

}  // namespace xdc
