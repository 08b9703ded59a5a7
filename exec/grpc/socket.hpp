// How does this side reach another, and let go of it whatever the other does? A TCP socket of our own under gRPC's channel.
#pragma once

#include <netinet/in.h>

#include <optional>
#include <string>

#include "core/base/result.hpp"
#include "exec/host/steady_clock.hpp"

namespace xdc {

// Owns a file descriptor.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int fd) : fd_(fd) {}
  ~Socket();
  Socket(Socket&& other) noexcept : fd_(other.release()) {}
  Socket& operator=(Socket&& other) noexcept;
  int fd() const { return fd_; }
  int release();
  // The connection ends now, both ways, with whatever was still under way. Any lane.
  void shut_down() const;
  Result<Socket> duplicate() const;

 private:
  int fd_ = -1;
};

// "127.0.0.1:4711", port 0 included; nullopt: no such address.
std::optional<sockaddr_in> parse_address(const std::string& address);

// `address` is "127.0.0.1:4711". Errors: timeout; peer_lost, when that host refuses: nobody listens there any more; failed.
Result<Socket> connect_tcp(const std::string& address, const SteadyClock& clock, Deadline deadline);

}  // namespace xdc
